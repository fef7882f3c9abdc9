import Campanile
import Foundation
import Testing

/// A value that counts how often it is compared.
private struct CountedValue: Hashable, Sendable {
  let number: Int
  let compared: Recorder<Int>

  static func == (one: Self, other: Self) -> Bool {
    one.compared.record(1)
    return one.number == other.number
  }

  func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

private final class Ending: Sendable {
  private let onEnd: @Sendable (Ending) -> Void
  init(_ onEnd: @escaping @Sendable (Ending) -> Void) { self.onEnd = onEnd }
  deinit { onEnd(self) }
}

@Suite("A notification queue that takes back what waits", .ownThread)
struct CoalescingTests {
  /// What a queue of ours posts in the turns after `run`.
  private func posted(_ run: @escaping @Sendable (QueueFace) -> Void) -> [String] {
    QueuedScenario.ours { face in
      face.center.add(nil) { [log = face.log] in
        log.record("\($0.number)\($0.object == nil ? "" : " about something")")
      }
      run(face)
      for _ in 0..<2 { face.turn() }
    }
  }

  @Test("Notifications for different modes are posted in the order in which they were enqueued")
  func order() {
    let heard = posted { face in
      for number in 0..<12 {
        face.enqueue(
          number, number % 4 == 3 ? .whenIdle : .asap, of: .init("\(number)"),
          modes: [.default, RunLoop.Mode("mode \(number % 3)")])
      }
      face.enqueue(4, .asap, .onName, of: .init("4"))
    }
    #expect(heard == [0, 1, 2, 5, 6, 8, 9, 10, 4, 3, 7, 11].map { "\($0)" })
  }

  @Test(
    "K16 values are compared with those of the same hash alone",
    arguments: [1_000, Effort.times(4_000, long: 4_000)])
  func values(count: Int) {
    let compared = Recorder<Int>()
    let heard = posted { face in
      for number in (0..<2).flatMap({ _ in 0..<count }) {
        let value = CountedValue(number: number, compared: compared)
        face.enqueue(number, .asap, [.onName, .onSender], about: value)
        face.enqueue(number, .asap, .onSender, about: value)
      }
    }
    // Of each value one waits at the end, which was compared three times.
    #expect(heard == (0..<count).map { "\($0) about something" })
    #expect(compared.count <= count * 3)
  }

  @Test("Values that are not equal are not taken for each other, also with one hash")
  func sameHash() {
    struct Odd: Hashable, Sendable {
      let number: Int
      func hash(into hasher: inout Hasher) {}
    }
    let heard = posted { face in
      for number in [1, 2, 1] { face.enqueue(number, .asap, .onSender, about: Odd(number: number)) }
    }
    #expect(heard == ["2 about something", "1 about something"])
  }

  @Test("An object in its deinit is not kept: what waits is posted about nothing, each by itself")
  func deinitializing() {
    let heard = posted { face in
      let queue = Kept<QueueFace>(face.makeQueue())
      for _ in 0..<2 {
        _ = Ending { ending in
          for number in 0..<2 {
            queue.withValue {
              $0?.enqueue(number, .asap, [.onName, .onSender], about: ending)
            }
          }
        }
      }
      queue.set(nil)
    }
    #expect(heard == ["0", "1", "0", "1"])
  }
}
