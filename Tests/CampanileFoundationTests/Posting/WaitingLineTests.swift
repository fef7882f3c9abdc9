import Campanile
import CampanileFoundation
import Testing

/// A label that counts how often it is compared.
private struct CountedLabel: Hashable {
  let number: Int
  let compared: Recorder<Int>

  static func == (one: Self, other: Self) -> Bool {
    one.compared.record(1)
    return one.number == other.number
  }

  func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

@Suite("A line of what waits")
struct WaitingLineTests {
  private var line = WaitingLine<String, Int>()

  @Test("What is taken out in front leaves the others in order")
  mutating func order() {
    for number in 0..<6 { line.append(number, labels: []) }
    #expect(line.popFirst(upTo: .max) == 0)
    #expect(line.popFirst(upTo: .max) == 1)
    line.append(6, id: 20, labels: [])
    line.append(7, labels: [])
    #expect(line.newestID == 21)
    #expect(Array(line.elements) == [2, 3, 4, 5, 6, 7])
    #expect(line.removeAll() == [2, 3, 4, 5, 6, 7])
    #expect(line.popFirst(upTo: .max) == nil)
    #expect(line.firstID == nil && line.newestID == nil)
  }

  @Test("Nothing is taken out that is newer than what was asked for")
  mutating func limit() throws {
    line.append(1, labels: [])
    let last = try #require(line.newestID)
    line.append(2, labels: [])
    #expect(line.popFirst(upTo: last - 1) == nil)
    #expect(line.popFirst(upTo: last) == 1)
    #expect(line.popFirst(upTo: last) == nil)
    #expect(line.count == 1)
  }

  @Test("What has a label is taken out, oldest first, and has no other label then")
  mutating func labels() {
    line.append(1, labels: ["a", "b"])
    line.append(2, labels: ["b"])
    line.append(3, labels: ["a", "b", "c"])
    line.append(4, labels: ["b"])
    #expect(line.elements(labeled: "a").map(\.element) == [1, 3])
    #expect(line.removeAll(labeled: "a") == [1, 3])
    #expect(line.removeAll(labeled: "c") == [])
    #expect(line.removeAll(labeled: "b") == [2, 4])
    #expect(line.isEmpty)
    line.append(5, labels: ["b"])
    #expect(line.popFirst(upTo: .max) == 5)
    #expect(line.removeAll(labeled: "b") == [])
  }

  @Test("K16 to coalesce costs the same however many others wait", arguments: [1_000, 10_000])
  func comparisons(count: Int) {
    let compared = Recorder<Int>()
    var line = WaitingLine<CountedLabel, Int>()
    for round in 0..<2 {
      for number in 0..<count {
        let label = CountedLabel(number: number, compared: compared)
        #expect(line.removeAll(labeled: label) == (round == 0 ? [] : [number]))
        line.append(number, labels: [label])
      }
    }
    #expect(line.count == count)
    #expect(Array(line.elements.prefix(3)) == [0, 1, 2])
    // Labels with the same hash, or in neighboring places of the table, are compared too.
    #expect(compared.count < count * 20)
  }

  @Test("K16 a line that is never empty keeps few of the places that it has emptied")
  mutating func places() throws {
    for number in 0..<10_000 { line.append(number, labels: ["\(number)"]) }
    while line.count > 4 { _ = line.popFirst(upTo: .max) }
    let parts = Mirror(reflecting: line).children
    for name in ["places", "labeled"] {
      let part = try #require(parts.first { $0.label == name }?.value)
      #expect(Mirror(reflecting: part).children.count == 4)
      let capacity = (part as? any HasCapacity)?.capacity
      #expect(try #require(capacity) <= 128)
    }
  }

  @Test("A line does what an array does", arguments: [1, 2, 3])
  mutating func random(seed: UInt64) {
    var generator = Seeded(state: seed)
    var model: [(number: Int, labels: [String])] = []
    for number in 0..<4_000 {
      let label = "\(generator.next() % 9)"
      switch generator.next() % 8 {
      case 0...4:
        let labels = Array(Set([label, "\(generator.next() % 9)"]))
        line.append(number, labels: labels)
        model.append((number, labels))
      case 5:
        let expected = model.filter { $0.labels.contains(label) }.map(\.number)
        model.removeAll { $0.labels.contains(label) }
        #expect(line.removeAll(labeled: label) == expected)
      default:
        #expect(line.popFirst(upTo: .max) == model.first?.number)
        if !model.isEmpty { model.removeFirst() }
      }
      #expect(line.count == model.count)
    }
    #expect(Array(line.elements) == model.map(\.number))
  }
}

private protocol HasCapacity { var capacity: Int { get } }
extension Dictionary: HasCapacity {}

private struct Seeded: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
