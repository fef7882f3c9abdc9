import Campanile
import CampanileKVO
import Observation
import Testing

/// Paths through what is no object: members of structs, elements of dictionaries, values behind
/// protocols.
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
    var scores: [String: Int] = [:]
    var scene = Scene(lead: Artist("first"))
    var source: (any Titled)?
  }

  let log = Log()
  let window = Window()

  @Test("A member of a member of a struct, with distinct, is told of its own changes alone")
  func memberOfMember() {
    log.follow(window, \.frame.origin.x, [.old, .distinct])
    window.frame.origin.y = 1
    window.frame.size.x = 2
    window.frame.origin.x = 3
    window.frame = Frame()
    window.frame = Frame(size: Point(x: 9))
    #expect(log.lines == ["0 -> 3", "3 -> 0"])
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

  @Test("An object that a struct has is followed, and the one before is not")
  func objectInStruct() {
    let (first, second) = (window.scene.lead, Artist("second"))
    log.follow(window, \.scene.lead.name, .old)
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

  @Test("A key path that is put together while the program runs follows its parts")
  func appended() {
    let player = Player()
    let current: KeyPath<Player, Track?> = \.current
    let whole = current.appending(path: \Track?.?.title)
    log.follow(player, whole, .old)
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
}
