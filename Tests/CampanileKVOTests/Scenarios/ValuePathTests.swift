import Campanile
import CampanileKVO
import Observation
import Testing

/// Paths through what is no object: members of structs and tuples, elements of dictionaries, values
/// behind protocols.
@Suite("Key paths through values", .ownThread)
struct ValuePathTests {
  struct Point: Equatable {
    var x = 0
    var y = 0
  }

  struct Frame: Equatable {
    var origin = Point()
    var size = Point()
  }

  struct Scene {
    var name = ""
    var lead: Artist
  }

  protocol Titled: AnyObject {
    var title: String { get }
  }

  final class Book: Titled, Observable {
    @Observed var title: String
    init(_ title: String) { self.title = title }
  }

  final class Poster: Titled {
    let title = "poster"
  }

  @Observable final class Window {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var frame = Frame()
    var pair = (number: 1, text: "a")
    var scores: [String: Int] = [:]
    var library: [String: Track] = [:]
    var tracks: [Track] = []
    var scene = Scene(lead: Artist("first"))
    var source: (any Titled)?
    var kind: Any.Type = Int.self
    var action: () -> Int = { 0 }
  }

  let log = Log()
  let window = Window()

  private func follow<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options = .old
  ) {
    log.kvo.observe(object, keyPath, options: options) { log, _, change in
      log.lines.append(change.old.map { "\($0) -> \(change.new)" } ?? "\(change.new)")
    }
  }

  @Test("A member of a member of a struct, with distinct, is told of its own changes alone")
  func memberOfMember() {
    follow(window, \.frame.origin.x, [.old, .distinct])
    window.frame.origin.y = 1
    window.frame.size.x = 2
    window.frame.origin.x = 3
    window.frame = Frame()
    window.frame = Frame(size: Point(x: 9))
    #expect(log.lines == ["0 -> 3", "3 -> 0"])
  }

  @Test("A part of a tuple is told like a member of a struct")
  func tuple() {
    follow(window, \.pair.number)
    follow(window, \.pair.text)
    window.pair.number = 2
    window.pair = (3, "b")
    #expect(log.lines == ["1 -> 2", "a -> a", "2 -> 3", "a -> b"])
  }

  @Test(
    "A value of a dictionary is told as it comes, changes and goes, the others' with distinct not")
  func dictionary() {
    var heard: [String] = []
    let token = window.observe(\.scores["a"], options: [.old, .distinct]) { _, change in
      let old = change.old ?? nil
      heard.append("\(old ?? -1) -> \(change.new ?? -1)")
    }
    let counting = window.observe(\.scores["b"], options: .distinct) { _, change in
      heard.append("b \(change.new ?? 0)")
    }
    window.scores["a"] = 1
    window.scores["b"] = 7
    window.scores["a", default: 0] += 1
    window.scores["a"] = nil
    window.scores = [:]
    #expect(heard == ["-1 -> 1", "b 7", "1 -> 2", "2 -> -1", "b 0"])
    withExtendedLifetime((token, counting)) {}
  }

  @Test("An object in a dictionary is followed while it has its key")
  func objectInDictionary() {
    let (first, second) = (Track("first"), Track("second"))
    log.kvo.observe(window, \.library["x"]?.title) { log, _, change in
      log.lines.append(change.new ?? "nil")
    }
    window.library["x"] = first
    first.title = "first again"
    window.library["x"] = second
    first.title = "unheard"
    second.title = "second again"
    window.library["y"] = window.library.removeValue(forKey: "x")
    second.title = "unheard"
    #expect(log.lines == ["first", "first again", "second", "second again", "nil", "nil"])
  }

  @Test("An object that a struct has is followed, and the one before is not")
  func objectInStruct() {
    let (first, second) = (window.scene.lead, Artist("second"))
    follow(window, \.scene.lead.name)
    first.name = "one"
    window.scene.lead = second
    first.name = "unheard"
    second.name = "two"
    window.scene = Scene(name: "end", lead: first)
    #expect(
      log.lines == ["first -> one", "one -> second", "second -> two", "two -> unheard"])
  }

  @Test("An object behind a protocol is followed, whether or not it can be observed")
  func existential() {
    let book = Book("book")
    log.kvo.observe(window, \.source?.title, options: .initial) { log, _, change in
      log.lines.append(change.new ?? "nil")
    }
    window.source = book
    book.title = "book again"
    window.source = Poster()
    book.title = "unheard"
    window.source = book
    window.source = nil
    #expect(log.lines == ["nil", "book", "book again", "poster", "unheard", "nil"])
  }

  @Test("The last of a list of objects is followed as the list grows and shrinks")
  func lastOfList() {
    let (first, second) = (Track("first"), Track("second"))
    log.kvo.observe(window, \.tracks.last?.title, options: .distinct) { log, _, change in
      log.lines.append(change.new ?? "nil")
    }
    window.tracks.append(first)
    window.tracks.insert(second, at: 0)
    second.title = "unheard"
    window.tracks.removeLast()
    second.title = "heard"
    first.title = "unheard"
    window.tracks = []
    #expect(log.lines == ["first", "unheard", "heard", "nil"])
  }

  @Test("What a value computes of itself is told, like the length of a text")
  func computedByTheValue() {
    let player = Player()
    follow(player, \.title.count)
    follow(player, \.title.isEmpty, [.old, .distinct])
    player.title = "abc"
    player.title = "abcd"
    #expect(log.lines == ["0 -> 3", "true -> false", "3 -> 4"])
  }

  @Test("A key path that is put together while the program runs follows its parts")
  func appended() {
    let player = Player()
    let current: KeyPath<Player, Track?> = \.current
    let whole = current.appending(path: \Track?.?.title)
    follow(player, whole)
    #expect(log.kvo.isObserving(player, current.appending(path: \Track?.?.title)))
    player.current = Track("a")
    player.current?.title = "b"
    log.kvo.unobserve(player, whole)
    player.current?.title = "c"
    #expect(log.lines == ["nil -> Optional(\"a\")", "Optional(\"a\") -> Optional(\"b\")"])
  }

  @Test("The path of the object itself has an initial call, no changes, and keeps nothing")
  func identity() {
    var player: Player? = Player()
    weak let weakPlayer = player
    var calls = 0
    log.kvo.observe(player!, \.self, options: .initial) { _, same, change in
      calls += same === change.new ? 1 : 100
    }
    player?.title = "a"
    player = nil
    #expect(weakPlayer == nil)
    #expect(calls == 1)
    #expect(log.kvo.observationCount == 0)
  }

  @Test("Closures and types are values too")
  func notEquatable() {
    log.kvo.observe(window, \.action, options: .old) { log, _, change in
      log.lines.append("\(change.old?() ?? -1) -> \(change.new())")
    }
    follow(window, \.kind)
    window.action = { 1 }
    window.action = { 1 }
    window.kind = String.self
    #expect(log.lines == ["0 -> 1", "1 -> 1", "Int -> String"])
  }
}
