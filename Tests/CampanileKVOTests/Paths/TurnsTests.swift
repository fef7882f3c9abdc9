import Campanile
import TestSupport
import Testing

@testable import CampanileKVO

@Suite("The turns of several evaluations")
struct TurnsTests {
  /// An evaluation that has the observers with these identifiers, and counts what is asked of it.
  private final class Counted: Evaluation {
    let ids: [UInt64]
    let heard: Recorder<UInt64>
    private(set) var asked = 0

    init(_ root: Radio, _ ids: [UInt64], _ heard: Recorder<UInt64>) {
      (self.ids, self.heard) = (ids, heard)
      let options: KVOChange<Int>.Options = []
      super.init(KVORequest(\Radio.volume, options, #fileID, #line), root: root)
      keeper.withLock { $0.reserve(for: SourceRegistry.currentThread) }
    }

    override func firstObserver(from id: UInt64) -> UInt64? {
      asked += 1
      return ids.first { $0 >= id }
    }
    override func preparation(of report: ChangeReport) -> (ClosedRange<UInt64>) -> Void {
      { [heard, ids] range in for id in ids where range.contains(id) { heard.record(id) } }
    }
  }

  // Broken by: Evaluation.tellMerged, if it asks all evaluations at each turn.
  @Test("A change asks each evaluation for its first observer once for each of its turns")
  func questions() {
    let radio = Radio()
    // Identifiers that have been given out.
    let tokens = (0..<400).map { _ in radio.observe(\.display) { _, _ in } }
    let newest = SourceRegistry.newestID
    let later = UInt64.max - 1_000
    let heard = Recorder<UInt64>()
    let report = ChangeReport(changed: ChangedPaths(nil))
    let evaluations = (1...100 as ClosedRange<UInt64>).map { number in
      // In turn with another one, and one after the change began.
      Counted(radio, [newest - number, newest - number - 200, later + number].sorted(), heard)
    }
    Evaluation.tell(evaluations.map { ($0, report) })
    #expect(heard.values == heard.values.sorted() && heard.count == 200)
    #expect(evaluations.reduce(0) { $0 + $1.asked } <= 300)
    withExtendedLifetime(tokens) {}
  }

  @Test("Turns come in the order of their observers", arguments: 0..<8)
  func order(seed: UInt64) {
    var turns = Turns()
    var ids: [UInt64] = []
    for index in 0..<50 {
      let id = (UInt64(index) &* 0x9E37_79B9 &+ seed &* 0x85EB_CA6B) % 1_000
      turns.insert(Turns.Turn(id: id, index: index))
      ids.append(id)
      if index % 5 == 4 { #expect(turns.popFirst()?.id == ids.min()) }
      if index % 5 == 4 { ids.remove(at: ids.firstIndex(of: ids.min()!)!) }
    }
    let rest = sequence(state: turns) { $0.popFirst()?.id }
    #expect(Array(rest) == ids.sorted())
  }
}
