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

@Suite("A line of what waits", .ownThread)
struct WaitingLineTests {
  private var line = WaitingLine<String, Int>()

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
    var generator = SeededGenerator(seed)
    var model: [(id: UInt64, number: Int, labels: [String])] = []
    var lastID: UInt64 = 0
    for number in 0..<4_000 {
      let label = "\(generator.next() % 9)"
      let labeled = model.filter { $0.labels.contains(label) }
      switch generator.next() % 16 {
      case 0...8:
        let labels = Array(Set([label, "\(generator.next() % 9)"]))
        // Identifiers ascend, in steps that whoever appends may choose.
        let isChosen = number.isMultiple(of: 7)
        lastID += isChosen ? 5 : 1
        line.append(number, id: isChosen ? lastID : nil, labels: labels)
        model.append((lastID, number, labels))
      case 9:
        #expect(line.elements(labeled: label).map(\.id) == labeled.map(\.id))
        #expect(line.removeAll(labeled: label) == labeled.map(\.number))
        model.removeAll { $0.labels.contains(label) }
      case 10:
        // Nothing is taken out that is newer than what is asked for.
        let limit = model.first.map { $0.id - 1 } ?? .max
        #expect(line.popFirst(upTo: limit) == nil)
      case 11 where number.isMultiple(of: 50):
        #expect(line.removeAll() == model.map(\.number))
        model = []
      default:
        #expect(line.popFirst(upTo: model.first?.id ?? .max) == model.first?.number)
        if !model.isEmpty { model.removeFirst() }
      }
      #expect(line.count == model.count && line.isEmpty == model.isEmpty)
      #expect(line.firstID == model.first?.id && line.newestID == model.last?.id)
    }
    #expect(Array(line.elements) == model.map(\.number))
  }
}

private protocol HasCapacity { var capacity: Int { get } }
extension Dictionary: HasCapacity {}
