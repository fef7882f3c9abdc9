import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Collections", .ownThread)
struct CollectionTests {
  let log = Log()
  let radio = Radio()

  init() {
    radio.presets = ["a", "b", "c"]
    log.kvo.observe(radio, \.presets, options: .old) { log, _, change in
      let indexes = change.indexes.map { "\(Array($0.ranges))" } ?? "-"
      log.lines.append("\(change.edit) \(indexes) \(change.new.joined())")
    }
  }

  private var presets: KVOArray<Radio, String> { radio.mutableArray(\.presets) }

  @Test("Appending is an insertion at the end")
  func append() {
    presets.append("d")
    presets.append(contentsOf: ["e", "f"])
    #expect(log.lines == ["insertion [Range(3..<4)] abcd", "insertion [Range(4..<6)] abcdef"])
  }

  @Test("Inserting tells where")
  func insert() {
    presets.insert("x", at: 1)
    presets.insert(contentsOf: ["y", "z"], at: 0)
    #expect(log.lines == ["insertion [Range(1..<2)] axbc", "insertion [Range(0..<2)] yzaxbc"])
  }

  @Test("Removing tells where it was, and the old value has the element")
  func remove() {
    var removed: [String] = []
    let token = radio.observe(\.presets, options: .old) { _, change in
      if let old = change.old, let indexes = change.indexes { removed += old[indexes] }
    }
    #expect(presets.remove(at: 1) == "b")
    presets.removeSubrange(0..<2)
    #expect(log.lines == ["removal [Range(1..<2)] ac", "removal [Range(0..<2)] "])
    #expect(removed == ["b", "a", "c"])
    withExtendedLifetime(token) {}
  }

  @Test("The first and the last are removed from where they are")
  func removeEnds() {
    #expect(presets.removeLast() == "c")
    #expect(presets.removeFirst() == "a")
    #expect(log.lines == ["removal [Range(2..<3)] ab", "removal [Range(0..<1)] b"])
    #expect(presets.removeLast() == "b")
    #expect(presets.isEmpty)
  }

  @Test("Removing scattered elements is one change")
  func removeWhere() {
    presets.removeAll { $0 != "b" }
    #expect(log.lines == ["removal [Range(0..<1), Range(2..<3)] b"])
  }

  @Test("Setting an element is a replacement")
  func replace() {
    presets[1] = "x"
    presets.swapAt(0, 2)
    #expect(
      log.lines == [
        "replacement [Range(1..<2)] axc", "replacement [Range(0..<1), Range(2..<3)] cxa",
      ])
  }

  @Test("Replacing a range is a replacement and an insertion or a removal")
  func replaceSubrange() {
    presets.replaceSubrange(0..<1, with: ["x", "y"])
    presets.replaceSubrange(1..<4, with: ["z"])
    #expect(
      log.lines == [
        "replacement [Range(0..<1)] xbc", "insertion [Range(1..<2)] xybc",
        "replacement [Range(1..<2)] xzbc", "removal [Range(2..<4)] xz",
      ])
  }

  @Test("What changes nothing tells nothing")
  func nothing() {
    presets.append(contentsOf: [])
    presets.removeSubrange(1..<1)
    presets.removeAll { _ in false }
    presets.swapAt(1, 1)
    presets.replaceSubrange(0..<0, with: [])
    #expect(log.lines.isEmpty)
    presets.removeAll()
    presets.removeAll()
    #expect(log.lines == ["removal [Range(0..<3)] "])
  }

  @Test("A change without the proxy is a setting without indexes")
  func setting() {
    radio.presets = ["x"]
    radio.presets.append("y")
    #expect(log.lines == ["setting - x", "setting - xy"])
  }

  @Test("The proxy is a collection")
  func isCollection() {
    #expect(presets.count == 3)
    #expect(Array(presets) == ["a", "b", "c"])
    #expect(presets.last == "c")
    let sorted = presets
    sorted.reverse()
    #expect(radio.presets == ["c", "b", "a"])
  }

  @Test("The proxy tells the observers of a macro's property")
  func macro() {
    let player = Player()
    let tracks = player.mutableArray(\.tracks)
    var kinds: [Edit] = []
    let token = player.observe(\.tracks) { _, change in kinds.append(change.edit) }
    tracks.append("Aria")
    tracks[0] = "Bourree"
    tracks.remove(at: 0)
    #expect(kinds == [.insertion, .replacement, .removal])
    withExtendedLifetime(token) {}
  }

  @Test("The proxy works along an inherited key path")
  func inherited() {
    let radio = ClockRadio()
    var kinds: [Edit] = []
    let token = radio.observe(\ClockRadio.presets) { _, change in kinds.append(change.edit) }
    radio.mutableArray(\.presets).append("a")
    #expect(kinds == [.insertion])
    withExtendedLifetime(token) {}
  }

  @Test("An observer along a nested path learns the kind and the indexes")
  func nested() {
    let outer = Radio()
    outer.next = radio
    log.lines = []
    log.kvo.observe(outer, \.next!.presets) { log, _, change in
      log.lines.append("nested \(change.edit) \(change.indexes.map { Array($0.ranges) } ?? [])")
    }
    presets.append("d")
    #expect(log.lines.last == "nested insertion [Range(3..<4)]")
  }

  @Test("What is computed from a collection has no indexes of it")
  func computed() {
    final class List: Observable {
      @Observed var items = ["c", "a"]
      var sorted: [String] { items.sorted() }
    }
    let list = List()
    let log = log
    log.kvo.observe(list, \.sorted) { log, _, change in
      log.lines.append("\(change.edit) \(change.indexes == nil) \(change.new)")
    }
    list.mutableArray(\.items).append("b")
    #expect(log.lines == ["setting true [\"a\", \"b\", \"c\"]"])
  }

  @Test("A change that an observer makes meanwhile is no part of the edit")
  func nestedChange() {
    log.kvo.unobserveAll()
    log.kvo.observe(radio, \.presets) { log, radio, change in
      log.lines.append("\(change.edit) \(change.new.count)")
      if change.new.count == 4 { radio.presets = [] }
    }
    presets.append("d")
    #expect(log.lines == ["insertion 4", "setting 0"])
  }

  @Test("The prior call tells the kind too")
  func prior() {
    log.kvo.unobserveAll()
    log.kvo.observe(radio, \.presets, options: .prior) { log, _, change in
      log.lines.append("\(change.phase) \(change.edit)")
    }
    presets.remove(at: 0)
    #expect(log.lines == ["prior removal", "changed removal"])
  }

  @Test("A difference is computed on request")
  func difference() throws {
    var difference: CollectionDifference<String>?
    let token = radio.observe(\.presets, options: .old) { _, change in
      difference = change.difference()
    }
    radio.presets = ["b", "c", "d"]
    let found = try #require(difference)
    #expect(["a", "b", "c"].applying(found) == ["b", "c", "d"])
    #expect(found.insertions.count == 1 && found.removals.count == 1)
    withExtendedLifetime(token) {}
  }

  @Test("Without the old value there is no difference")
  func noDifference() {
    var isNil = false
    let token = radio.observe(\.presets) { _, change in isNil = change.difference() == nil }
    radio.presets = []
    #expect(isNil)
    withExtendedLifetime(token) {}
  }

  @Test("An object that the setter changes first, and that has the same array, is told the edit")
  func otherObject() {
    final class Twin: Observable {
      private let registrar = KVORegistrar()
      let radio: Radio
      init(_ radio: Radio) { self.radio = radio }
      var presets: [String] {
        get {
          registrar.access(self, keyPath: \.presets)
          return radio.presets
        }
        set {
          radio.presets = newValue
          registrar.withMutation(of: self, keyPath: \.presets) {}
        }
      }
    }
    let twin = Twin(radio)
    var kinds: [Edit] = []
    let token = twin.observe(\.presets) { _, change in kinds.append(change.edit) }
    twin.mutableArray(\.presets).append("d")
    #expect(log.lines == ["insertion [Range(3..<4)] abcd"])
    // Then the twin's own change, of an array that is the same before and after.
    #expect(kinds == [.insertion, .setting])
    withExtendedLifetime(token) {}
  }

  @Test("An object that the setter changes too, and that has another array, is told a setting")
  func otherArray() {
    final class Front: Observable {
      @Observed var presets = ["b"] {
        didSet { backup.presets = presets }
      }
      let backup = Radio()
    }
    let front = Front()
    var kinds: [String] = []
    let tokens = [
      front.observe(\.presets) { _, change in kinds.append("front \(change.edit)") },
      front.backup.observe(\.presets) { _, change in kinds.append("backup \(change.edit)") },
    ]
    front.mutableArray(\.presets).append("c")
    #expect(Set(kinds) == ["front insertion", "backup setting"])
    withExtendedLifetime(tokens) {}
  }

  @Test("An edit is one for every property that it takes from the array before to the array after")
  func otherProperty() {
    final class Shelf: Observable {
      @Observed var items: [Int] = [] {
        didSet { copies = items }
      }
      @Observed var copies: [Int] = []
    }
    let shelf = Shelf()
    var kinds: [String] = []
    let tokens = [
      shelf.observe(\.items) { _, change in kinds.append("items \(change.edit)") },
      shelf.observe(\.copies) { _, change in kinds.append("copies \(change.edit)") },
    ]
    shelf.mutableArray(\.items).append(1)
    #expect(Set(kinds) == ["items insertion", "copies insertion"])
    withExtendedLifetime(tokens) {}
  }

  @Test("A computed array is edited like a stored one")
  func computedArray() {
    final class List: Observable {
      private let registrar = KVORegistrar()
      private var storage = ["a"]
      var items: [String] {
        get {
          registrar.access(self, keyPath: \.items)
          return storage
        }
        set { registrar.withMutation(of: self, keyPath: \.items) { storage = newValue } }
      }
    }
    let list = List()
    var changes: [KVOChange<[String]>] = []
    let token = list.observe(\.items, options: [.initial, .old]) { _, change in
      changes.append(change)
    }
    let items = list.mutableArray(\.items)
    items.append("b")
    items[0] = "c"
    items.remove(at: 1)
    #expect(changes.map(\.edit) == [.setting, .insertion, .replacement, .removal])
    #expect(changes.map(\.new) == [["a"], ["a", "b"], ["c", "b"], ["c"]])
    #expect(changes.map(\.old) == [nil, ["a"], ["a", "b"], ["c", "b"]])
    #expect(changes.map(\.indexes) == [nil, RangeSet(1..<2), RangeSet(0..<1), RangeSet(1..<2)])
    withExtendedLifetime(token) {}
  }

  @Test("An element is told before and after, with the kind, each time it is edited")
  func priorOfEach() {
    log.kvo.unobserveAll()
    log.kvo.observe(radio, \.presets, options: [.prior, .old]) { log, _, change in
      let indexes = change.indexes.map { "\($0.ranges.first?.lowerBound ?? -1)" } ?? "-"
      log.lines.append("\(change.phase) \(change.edit) \(indexes) \(change.new.joined())")
    }
    presets.append("d")
    presets[0] = "x"
    presets.remove(at: 3)
    #expect(
      log.lines == [
        "prior insertion 3 abc", "changed insertion 3 abcd", "prior replacement 0 abcd",
        "changed replacement 0 xbcd", "prior removal 3 xbcd", "changed removal 3 xbc",
      ])
  }

  @Test("Each call of a set's proxy tells what it changed, and nothing if that is nothing")
  func setCalls() {
    radio.names = ["a", "b"]
    let log = Log()
    log.kvo.observe(radio, \.names, options: .old) { log, _, change in
      log.lines.append("\(change.edit) \(change.new.sorted().joined())")
    }
    let names = radio.mutableSet(\.names)
    names.formUnion(["a"])
    names.formUnion(["a", "c", "d"])
    names.subtract(["x"])
    names.subtract(["a", "x"])
    names.formIntersection(["b", "c", "d"])
    names.formIntersection(["b", "x"])
    names.replaceAll(with: ["y", "z"])
    names.removeAll()
    names.removeAll()
    #expect(
      log.lines == [
        "insertion abcd", "removal bcd", "removal b", "replacement yz", "removal ",
      ])
  }

  @Test("A set's members come and go")
  func sets() {
    let log = Log()
    log.kvo.observe(radio, \.names, options: .old) { log, _, change in
      let came = change.insertedMembers()?.sorted() ?? []
      let went = change.removedMembers()?.sorted() ?? []
      log.lines.append("\(change.edit) \(came) \(went)")
    }
    let names = radio.mutableSet(\.names)
    #expect(names.insert("a"))
    #expect(!names.insert("a"))
    names.formUnion(["a", "b", "c"])
    #expect(names.remove("a"))
    #expect(!names.remove("a"))
    names.formIntersection(["b"])
    names.replaceAll(with: ["x"])
    names.replaceAll(with: ["x"])
    names.removeAll()
    #expect(
      log.lines == [
        "insertion [\"a\"] []", "insertion [\"b\", \"c\"] []", "removal [] [\"a\"]",
        "removal [] [\"c\"]", "replacement [\"x\"] [\"b\"]", "removal [] [\"x\"]",
      ])
    #expect(names.count == 0 && !names.contains("x") && names.members.isEmpty)
  }

  @Test("Elements that cannot be compared are told along a path of one property")
  func noEquality() {
    final class Item {}
    final class Box: Observable { @Observed var items: [Item] = [] }
    let box = Box()
    var kinds: [Edit] = []
    let token = box.observe(\.items) { _, change in kinds.append(change.edit) }
    box.mutableArray(\.items).append(Item())
    #expect(kinds == [.insertion])
    withExtendedLifetime(token) {}
  }

  @Test("A setter that does more than to set tells a setting")
  func clamping() {
    let names = Shortlist([1, 2, 3]) { $0 }
    // These cannot be compared.
    let counts = Shortlist([1, 2, 3]) { number in { number } }
    let heard = Recorder<String>()
    func note<Value: Collection>(_ change: KVOChange<Value>) {
      heard.record("\(change.edit) \(change.indexes?.ranges.count ?? 0) of \(change.new.count)")
    }
    let tokens = [
      names.observe(\.items) { _, change in note(change) },
      counts.observe(\.items) { _, change in note(change) },
    ]
    names.mutableArray(\.items).append(4)
    counts.mutableArray(\.items).append { 4 }
    names.mutableArray(\.items).remove(at: 0)
    counts.mutableArray(\.items).remove(at: 0)
    let expected = ["setting 0 of 3", "removal 1 of 2"].flatMap { [$0, $0] }
    #expect(heard.values == expected)
    withExtendedLifetime(tokens) {}
  }

  /// Keeps three items at most.
  private final class Shortlist<Item>: Observable {
    let registrar = KVORegistrar()
    private var stored: [Item]
    init(_ numbers: [Int], _ make: (Int) -> Item) { stored = numbers.map(make) }
    var items: [Item] {
      get {
        registrar.access(self, keyPath: \.items)
        return stored
      }
      set {
        registrar.withMutation(of: self, keyPath: \.items) { stored = Array(newValue.prefix(3)) }
      }
    }
  }
}
