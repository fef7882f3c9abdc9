import Campanile
import CampanileKVO
import Dispatch
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
      let late = Recorder<(heard: Recorder<Int>, token: ObservationToken)>()
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
            let heard = Recorder<Int>()
            let token = meter.observe(\.count, options: .initial) { heard.record($1.new) }
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
        let values = heard.values
        #expect(values == Array((values.first ?? 0)...total), "no gap and no repetition")
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
