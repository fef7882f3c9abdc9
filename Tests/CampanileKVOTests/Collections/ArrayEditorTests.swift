import Campanile
import CampanileKVO
import Testing

/// Several edits of an array that are told as one change.
@Suite("Several edits of an array", .ownThread)
struct ArrayEditorTests {
  private struct Failure: Error {}

  /// The changes that `body` makes of an array, with their kinds.
  private func kinds(
    of elements: [String], _ body: (KVOArray<Radio, String>) throws -> Void
  ) rethrows -> [KVOChange<[String]>.Kind] {
    let radio = Radio()
    radio.presets = elements
    var kinds: [KVOChange<[String]>.Kind] = []
    let token = radio.observe(\.presets) { _, change in kinds.append(change.kind) }
    try body(radio.mutableArray(\.presets))
    withExtendedLifetime(token) {}
    return kinds
  }

  @Test("A sort is one change, with the fewest moves")
  func sort() {
    #expect(
      kinds(of: ["d", "a", "b", "c"]) { $0.sort() } == [
        .edits(removals: RangeSet(), insertions: RangeSet(), moves: [KVOMove(from: 0, to: 3)])
      ])
    #expect(kinds(of: ["a", "b"]) { $0.sort() }.isEmpty)
    #expect(
      kinds(of: ["a", "b"]) { $0.sort(by: >) } == kinds(of: ["a", "b"]) { $0.reverse() })
    #expect(
      kinds(of: ["a", "b", "c"]) { $0.move(from: 2, to: 0) } == [
        .edits(removals: RangeSet(), insertions: RangeSet(), moves: [KVOMove(from: 2, to: 0)])
      ])
  }

  @Test("A shuffle is one change that keeps all elements")
  func shuffle() {
    let radio = Radio()
    radio.presets = (0..<100).map(String.init)
    var replica = Replica(radio.presets)
    let token = radio.observe(\.presets, options: .old) { _, change in replica.apply(change) }
    radio.mutableArray(\.presets).shuffle()
    var generator = SeededGenerator(7)
    radio.mutableArray(\.presets).shuffle(using: &generator)
    #expect(replica.faults.isEmpty && replica.editCount == 2)
    #expect(replica.elements == radio.presets)
    withExtendedLifetime(token) {}
  }

  @Test("Edits of one sort are told as that: insertions, removals, replacements, or nothing")
  func oneSort() {
    let kinds = kinds(of: ["a", "b", "c"]) { array in
      array.edit {
        $0.append("d")
        $0.insert("e", at: 0)
      }
      array.edit {
        $0.removeFirst()
        $0.removeLast()
      }
      array.edit {
        $0[0] = "x"
        $0[2] = "y"
      }
      array.edit {
        $0.append("z")
        $0.removeLast()
      }
      array.edit { _ in }
    }
    #expect(
      kinds == [
        .insertion(at: RangeSet([0..<1, 4..<5])), .removal(at: RangeSet([0..<1, 4..<5])),
        .replacement(at: RangeSet([0..<1, 2..<3])),
      ])
  }

  @Test(
    "Removals, insertions and moves are one change, and a replacement is a removal and an insertion"
  )
  func mixed() {
    let kinds = kinds(of: ["a", "b", "c", "d"]) { array in
      let count = array.edit { edited in
        edited.removeAll { $0 == "b" }
        edited.move(from: 2, to: 0)
        edited[1] = "A"
        edited.append("e")
        return edited.count
      }
      #expect(count == 4 && array.elements == ["d", "A", "c", "e"])
    }
    #expect(
      kinds == [
        .edits(
          removals: RangeSet(0..<2), insertions: RangeSet([1..<2, 3..<4]),
          moves: [KVOMove(from: 3, to: 0)])
      ])
  }

  @Test("Who goes through the array sees the elements as they were, whatever is done meanwhile")
  func iteration() {
    var seen: [String] = []
    let kinds = kinds(of: ["a", "b", "c"]) { array in
      for element in array {
        seen.append(element)
        array.removeAll()
      }
    }
    #expect(seen == ["a", "b", "c"])
    #expect(kinds == [.removal(at: RangeSet(0..<3))])
  }

  @Test("Nothing is changed, and nobody is called, if the edits throw")
  func failure() {
    var isCalled = false
    let kinds = kinds(of: ["a"]) { array in
      do {
        try array.edit {
          $0.append("b")
          isCalled = true
          throw Failure()
        }
      } catch {}
      #expect(array.elements == ["a"])
    }
    #expect(isCalled && kinds.isEmpty)
  }

  @Test(
    "Whoever applies the edits has the array, whatever is done to it",
    arguments: 0..<200 as Range<UInt64>)
  func replay(seed: UInt64) {
    var random = SeededGenerator(seed)
    let radio = Radio()
    radio.presets = (0..<Int.random(in: 0...12, using: &random)).map(String.init)
    var replica = Replica(radio.presets)
    let token = radio.observe(\.presets, options: .old) { _, change in replica.apply(change) }
    for round in 0..<20 {
      radio.mutableArray(\.presets).edit { edited in
        for step in 0..<Int.random(in: 0...4, using: &random) {
          Self.change(&edited, "\(round).\(step)", &random)
        }
      }
      #expect(replica.elements == radio.presets)
    }
    #expect(replica.faults.isEmpty)
    withExtendedLifetime(token) {}
  }

  /// Makes one edit.
  private static func change(
    _ edited: inout KVOArrayEditor<String>, _ new: String, _ random: inout SeededGenerator
  ) {
    guard let place = edited.indices.randomElement(using: &random) else {
      return edited.append(new)
    }
    let other = Int.random(in: 0..<edited.count, using: &random)
    switch Int.random(in: 0..<12, using: &random) {
    case 0: edited.insert(new, at: place)
    case 1: edited.remove(at: place)
    case 2: edited[place] = new
    case 3: edited.move(from: place, to: other)
    case 4: edited.swapAt(place, other)
    case 5: edited.sort()
    case 6: edited.shuffle(using: &random)
    case 7: edited.replaceSubrange(min(place, other)..<max(place, other), with: [new, new])
    case 8: edited.removeAll()
    case 9: edited = edited.filter { !$0.hasPrefix("2") }
    case 10: edited = [new] + edited
    default: edited.removeAll { $0.hasPrefix("1") }
    }
  }
}
