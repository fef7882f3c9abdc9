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
      let ranges = change.indexes.map { $0.ranges.map { "\($0)" }.joined(separator: ",") }
      log.lines.append("\(change.edit) \(ranges ?? "-") \(change.new.joined())")
      // The array before has what was removed.
      if change.edit == .removal, let indexes = change.indexes, let old = change.old {
        #expect(old.indices.filter { !indexes.contains($0) }.map { old[$0] } == change.new)
      }
    }
  }

  private var presets: KVOArray<Radio, String> { radio.mutableArray(\.presets) }

  /// Edits of an array that has "a", "b" and "c" before each of them, and what each of them tells.
  private static let edits: [@Sendable (KVOArray<Radio, String>) -> [String]] = [
    { array in
      array.append("d")
      array.append(contentsOf: ["e", "f"])
      return ["insertion 3..<4 abcd", "insertion 4..<6 abcdef"]
    },
    { array in
      array.insert("x", at: 1)
      array.insert(contentsOf: ["y", "z"], at: 0)
      return ["insertion 1..<2 axbc", "insertion 0..<2 yzaxbc"]
    },
    { array in
      #expect(array.remove(at: 1) == "b")
      array.removeSubrange(0..<2)
      return ["removal 1..<2 ac", "removal 0..<2 "]
    },
    { array in
      #expect(array.removeLast() == "c" && array.removeFirst() == "a" && array.removeLast() == "b")
      return ["removal 2..<3 ab", "removal 0..<1 b", "removal 0..<1 "]
    },
    { array in
      array.removeAll { $0 != "b" }
      return ["removal 0..<1,2..<3 b"]
    },
    { array in
      // One of several equal elements has its own place.
      array[1] = "a"
      array.remove(at: 0)
      array.swapAt(0, 1)
      return ["replacement 1..<2 aac", "removal 0..<1 ac", "replacement 0..<2 ca"]
    },
    { array in
      array.replaceSubrange(0..<1, with: ["x", "y"])
      array.replaceSubrange(1..<4, with: ["z"])
      return [
        "replacement 0..<1 xbc", "insertion 1..<2 xybc", "replacement 1..<2 xzbc",
        "removal 2..<4 xz",
      ]
    },
    { array in
      // What changes nothing tells nothing.
      array.append(contentsOf: [])
      array.removeSubrange(1..<1)
      array.removeAll { _ in false }
      array.swapAt(1, 1)
      array.replaceSubrange(0..<0, with: [])
      return []
    },
    { array in
      for _ in 0..<2 { array.removeAll() }
      return ["removal 0..<3 "]
    },
  ]

  @Test("F7 Each edit tells its kind and where it was, with the array after it")
  func edits() {
    for edit in Self.edits {
      radio.presets = ["a", "b", "c"]
      log.lines = []
      let expected = edit(presets)
      #expect(log.lines == expected)
    }
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

  @Test("A difference is computed on request, if there is the old value")
  func difference() throws {
    var difference: CollectionDifference<String>?
    let tokens = [
      radio.observe(\.presets, options: .old) { _, change in difference = change.difference() },
      radio.observe(\.presets) { _, change in #expect(change.difference() == nil) },
    ]
    radio.presets = ["b", "c", "d"]
    let found = try #require(difference)
    #expect(["a", "b", "c"].applying(found) == ["b", "c", "d"])
    #expect(found.insertions.count == 1 && found.removals.count == 1)
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

  @Test("A set's members come and go, and what changes nothing tells nothing")
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
    names.formUnion(["a", "b", "c", "d"])
    names.formUnion(["a"])
    #expect(names.remove("a"))
    #expect(!names.remove("a"))
    names.subtract(["x"])
    names.subtract(["d", "x"])
    names.formIntersection(["b", "x"])
    names.formIntersection(["b"])
    for _ in 0..<2 { names.replaceAll(with: ["x"]) }
    for _ in 0..<2 { names.removeAll() }
    #expect(
      log.lines == [
        "insertion [\"a\"] []", "insertion [\"b\", \"c\", \"d\"] []", "removal [] [\"a\"]",
        "removal [] [\"d\"]", "removal [] [\"c\"]", "replacement [\"x\"] [\"b\"]",
        "removal [] [\"x\"]",
      ])
    #expect(names.count == 0 && !names.contains("x") && names.members.isEmpty)
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
