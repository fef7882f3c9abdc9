import Campanile
@testable import CampanileKVO
import Observation
import Testing

/// Collections as programs change them: with the algorithms that every collection has, with their
/// own elements, from inside what looks at them.
@Suite("Collections: scenarios", .ownThread)
struct CollectionScenarioTests {
  let log = Log()
  let radio = Radio()

  private var presets: KVOArray<Radio, String> { radio.mutableArray(\.presets) }

  init() { radio.presets = ["a", "b", "c", "d"] }

  private func follow() {
    log.kvo.observe(radio, \.presets) { log, _, change in
      let places = change.indexes.map { "\($0.ranges.map { "\($0)" }) " } ?? ""
      log.lines.append("\(change.edit) \(places)\(change.new.joined())")
    }
  }

  /// Follows with a copy that is edited as the observer is told.
  private func rebuild(_ edits: () -> Void) -> Replica<String> {
    var replica = Replica(radio.presets)
    let token = radio.observe(\.presets, options: [.old, .prior]) { replica.apply($1) }
    edits()
    withExtendedLifetime(token) {}
    return replica
  }

  @Test("An array is given its own elements, in another order, through its proxy")
  func ownElements() {
    radio.presets = ["a", "b", "c"]
    presets.replaceSubrange(0..<1, with: presets.reversed())
    #expect(radio.presets == ["c", "b", "a", "b", "c"])
  }

  @Test("An array is inserted into itself through its proxy")
  func intoItself() {
    follow()
    presets.insert(contentsOf: presets, at: 1)
    presets.append(contentsOf: presets.prefix(1))
    #expect(
      log.lines == [
        "insertion [\"1..<5\"] aabcdbcd", "insertion [\"8..<9\"] aabcdbcda",
      ])
  }

  @Test("A removal whose predicate throws removes nothing and tells nothing")
  func throwingPredicate() {
    follow()
    #expect(throws: TestFailure.self) {
      try presets.removeAll { name in
        if name == "c" { throw TestFailure() }
        return true
      }
    }
    #expect(radio.presets == ["a", "b", "c", "d"])
    #expect(log.lines.isEmpty)
    presets.append("e")
    #expect(log.lines == ["insertion [\"4..<5\"] abcde"])
  }

  @Test("A replacement by more or by fewer goes on where an observer has left too few elements")
  func fewerInBetween() {
    let token = radio.observe(\.presets) { radio, change in
      if change.edit == .replacement { radio.presets = ["z"] }
    }
    presets.replaceSubrange(2..<3, with: ["x", "y"])
    #expect(radio.presets == ["z", "y"])
    radio.presets = ["a", "b", "c", "d"]
    presets.replaceSubrange(0..<4, with: ["x", "y"])
    #expect(radio.presets == ["z"])
    withExtendedLifetime(token) {}
  }

  @Test("A range that ends behind the array is a mistake, before anything is replaced")
  func rangeBehindTheEnd() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let radio = Radio()
      radio.presets = ["a"]
      radio.mutableArray(\.presets).replaceSubrange(0..<2, with: ["x"])
    }
    expect(result, says: "The range ends behind the array")
  }

  @Test("An edit along a path with optional chaining has its kind and its indexes, old and prior")
  func optionalChaining() {
    let outer = Radio()
    var heard: [String] = []
    let token = outer.observe(\.next?.presets, options: [.old, .prior]) { _, change in
      let places = change.indexes.map { "\($0.ranges.map { "\($0)" })" } ?? "-"
      heard.append("\(change.phase) \(change.edit) \(places) \(change.new?.joined() ?? "nil")")
    }
    outer.next = radio
    presets.append("e")
    presets.removeAll { $0 == "a" || $0 == "c" }
    radio.presets.append("x")
    outer.next = nil
    presets.append("unheard")
    #expect(
      heard == [
        "prior setting - nil", "changed setting - abcd",
        "prior insertion [\"4..<5\"] abcd", "changed insertion [\"4..<5\"] abcde",
        "prior removal [\"0..<1\", \"2..<3\"] abcde",
        "changed removal [\"0..<1\", \"2..<3\"] bde",
        "prior setting - bde", "changed setting - bdex",
        "prior setting - bdex", "changed setting - nil",
      ])
    withExtendedLifetime(token) {}
  }

  /// Rebuilds along `\.next?.presets` while edits, sets, replaced objects and observers that meddle
  /// come in an order that `seed` gives.
  private func rebuildThroughOptional(seed: Int) -> Replica<String> {
    var state = UInt64(seed + 1)
    func pick(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    let outer = Radio()
    outer.next = radio
    func change() {
      let list = (outer.next ?? radio).mutableArray(\.presets)
      switch pick(6) {
      case 0: list.insert("\(pick(9))", at: pick(list.count + 1))
      case 1: if !list.isEmpty { list.remove(at: pick(list.count)) }
      case 2: list.removeAll { _ in pick(3) == 0 }
      case 3: if !list.isEmpty { list[pick(list.count)] = "\(pick(9))" }
      case 4: (outer.next ?? radio).presets = ["x", "y", "z"]
      default: outer.next = [nil, radio, Radio()][pick(3)]
      }
    }
    var depth = 0
    let meddle: (Radio, KVOChange<[String]>) -> Void = { _, _ in
      if depth < 2, pick(4) == 0 {
        depth += 1
        change()
        depth -= 1
      }
    }
    let meddler = radio.observe(\.presets, options: .prior, meddle)
    var replica = Replica(radio.presets)
    let token = outer.observe(\.next?.presets, options: seed % 2 == 0 ? [] : .old) { _, change in
      replica.apply(
        KVOChange(
          change.step, change.deed, old: change.known ?? [], new: change.new ?? [],
          hasOld: change.hasOld, path: change.path, changed: change.changed))
    }
    for _ in 0..<40 {
      if pick(5) == 0 {
        KVOTransaction.perform { for _ in 0..<pick(3) { change() } }
      } else {
        change()
      }
      if replica.elements != outer.next?.presets ?? [] { replica.note("\(replica.elements)") }
    }
    withExtendedLifetime((meddler, token)) {}
    return replica
  }

  @Test("Who rebuilds an array along a path with optional chaining has it at every moment")
  func rebuiltThroughOptional() {
    var edits = 0
    for seed in 0..<200 {
      let replica = rebuildThroughOptional(seed: seed)
      #expect(replica.faults.isEmpty, "with \(seed)")
      edits += replica.editCount
    }
    #expect(edits > 1000)
  }

  @Test("An array in a struct is edited through its proxy")
  func arrayInStruct() {
    struct Box: Equatable { var items: [String] = [] }
    final class Store: Observable { @Observed var box = Box() }
    let store = Store()
    var replica = Replica<String>()
    var kinds: [Edit] = []
    let token = store.observe(\.box.items, options: .old) { _, change in
      replica.apply(change)
      kinds.append(change.edit)
    }
    store.mutableArray(\.box.items).append(contentsOf: ["a", "b", "c"])
    store.mutableArray(\.box.items).remove(at: 1)
    #expect(store.box.items == ["a", "c"])
    #expect(replica.elements == ["a", "c"])
    #expect(replica.faults.isEmpty)
    #expect(kinds == [.insertion, .removal])
    withExtendedLifetime(token) {}
  }
}
