import Campanile
import CampanileKVO
import Testing

/// What threads must not lose, double or disorder.
@Suite("Changes by several threads", .ownThread)
struct StressTests {
  static let widths = [1, 2, 8]
  static let rounds = 1...Effort.times(3, long: 20)

  private typealias Step = (old: Int, new: Int)

  @Test(
    "K14 Every change of a class that sets through its registrar is reported once, in order",
    arguments: widths)
  func everyChange(width: Int) {
    for _ in Self.rounds {
      let (meter, overlap) = (Meter(), OverlapDetector())
      let (steps, doubles) = (Recorder<Step>(), Recorder<Int>())
      let late = Recorder<(heard: Recorder<KVOChange<Int>>, token: ObservationToken)>()
      let tokens = [
        meter.observe(\.count, options: .old) { _, change in
          overlap.run { steps.record((change.old ?? -1, change.new)) }
        },
        meter.observe(\.double, options: [.initial, .distinct]) { doubles.record($1.new) },
      ]
      onThreads(width) { _ in
        for number in 0..<200 {
          meter.increment()
          if number % 50 == 10 {
            let heard = Recorder<KVOChange<Int>>()
            let token = meter.observe(\.count, options: [.initial, .old]) { heard.record($1) }
            late.record((heard, token))
          }
        }
      }
      // Calls that were left to no thread are made with this change.
      meter.increment()
      let total = width * 200 + 1
      #expect(!overlap.hasOverlapped)
      #expect(steps.values.map(\.old) == Array(0..<total))
      #expect(steps.values.map(\.new) == Array(1...total))
      for (heard, _) in late.values {
        let values = heard.values.map(\.new)
        #expect(values == Array((values.first ?? 0)...total), "no gap and no repetition")
        #expect(heard.values.map(\.old) == [nil] + values.dropLast())
      }
      let seen = doubles.values
      #expect(seen == seen.sorted() && Set(seen).count == seen.count && seen.last == total * 2)
      withExtendedLifetime(tokens) {}
    }
  }

  @Test("K14 A path whose object threads replace ends with the newest value", arguments: widths)
  func replacedObjects(width: Int) {
    for round in Self.rounds {
      let box = SharedBox<Meter>()
      let meters = (0..<4).map { _ in Meter() }
      let heard = Recorder<Int?>()
      let token = box.observe(\.content?.count, options: .distinct) { heard.record($1.new) }
      onThreads(width) { thread in
        for number in 0..<100 {
          box.content = meters[(thread + number) % 4]
          meters[number % 4].increment()
        }
      }
      box.content = meters[0]
      meters[0].count = 1_000_000 + round
      #expect(heard.values.last == 1_000_000 + round)
      withExtendedLifetime(token) {}
    }
  }

  @Test("K14 A source has every change of a property in order", arguments: widths)
  func source(width: Int) {
    let (meter, heard, queue) = (Meter(), Recorder<Int>(), TestQueue())
    let token = meter.changes(of: \.count, options: .initial).observe(on: queue.delivery) {
      heard.record($0.new)
    }
    onThreads(width) { _ in for _ in 0..<100 { meter.increment() } }
    meter.increment()
    queue.flush()
    #expect(heard.values == Array(0...width * 100 + 1))
    withExtendedLifetime(token) {}
  }

  /// Numbers behind a lock, each a property.
  final class Sheet: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked<[Int: Int]>([:])
    subscript(index: Int) -> Int {
      registrar.value(of: self, \.[index]) { read in state.withLock { read($0[index] ?? 0) } }
    }
    func increment(_ index: Int) {
      registrar.change(
        of: self, \.[index],
        under: { change in state.withLock { change(&$0[index, default: 0]) } }, { $0 += 1 })
    }
  }

  @Test(
    "K14 Every change of an argument is reported while properties with others are followed and left",
    arguments: widths)
  func arguments(width: Int) {
    let (sheet, gaps, steps) = (Sheet(), Recorder<[Int]>(), Recorder<Step>())
    let rounds = Effort.times(300, long: 3_000)
    let token = sheet.observe(\.[0], options: .old) { steps.record(($1.old ?? -1, $1.new)) }
    onThreads(width) { thread in
      for round in 0..<rounds {
        let heard = Recorder<Int>()
        let index = round % 3
        let late = sheet.observe(\.[index], options: .initial) { heard.record($1.new) }
        // Followed for a moment alone, so that the object forgets what nothing follows.
        sheet.observe(\.[rounds * (thread + 1) + round]) { _, _ in }.cancel()
        sheet.increment(index)
        late.cancel()
        // If another thread calls, the initial call may be left to it, and comes too late.
        guard let first = heard.values.first else { continue }
        let values = heard.values
        if values != Array(first..<first + values.count) { gaps.record(values) }
      }
    }
    // Calls that were left to no thread are made with this change.
    sheet.increment(0)
    #expect(gaps.values == [])
    #expect(steps.values.map(\.new) == Array(1...sheet[0]))
    #expect(steps.values.map(\.old) == Array(0..<sheet[0]))
    #expect((0..<3).map { sheet[$0] }.reduce(0, +) == width * rounds + 1)
    withExtendedLifetime(token) {}
  }

  @Test("Observers come, set and go on all threads", arguments: widths)
  func comeAndGo(width: Int) {
    let meter = Meter()
    onThreads(width) { _ in
      for _ in 0..<50 {
        let once = meter.observe(\.count, options: [.initial, .once]) { _, _ in }
        meter.increment()
        let setter = meter.observe(\.double) { meter, change in
          if change.new < 100 { meter.increment() }
        }
        meter.increment()
        once.cancel()
        setter.cancel()
      }
    }
    let last = Recorder<Int>()
    let token = meter.observe(\.count) { last.record($1.new) }
    meter.count = -1
    #expect(last.values == [-1])
    withExtendedLifetime(token) {}
  }
}
