import CampanileNotificationCenter
import Foundation
import Testing

import class CampanileNotificationCenter.NotificationCenter
import class CampanileNotificationCenter.NotificationQueue

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

@Suite("A notification queue that takes back what waits")
struct CoalescingTests {
  private let heard = Recorder<String>()

  /// Runs `body` with a queue, and then the run loop until the queue has posted what waits.
  private func withQueue(_ body: @escaping @Sendable (NotificationQueue) -> Void) {
    let center = NotificationCenter()
    let token = center.addObserver(forName: nil, object: nil, queue: nil) { [heard] in
      heard.record("\($0.name.rawValue) \($0.object == nil ? "about nothing" : "about something")")
    }
    onThread {
      body(NotificationQueue(notificationCenter: center))
      let hasEnded = Recorder<Int>()
      NotificationQueue(notificationCenter: center).enqueue(
        Notification(name: .tock), postingStyle: .whenIdle)
      let last = center.addObserver(forName: .tock, object: nil, queue: nil) { _ in
        hasEnded.record(1)
      }
      while hasEnded.count == 0 { _ = RunLoop.current.run(mode: .default, before: Date()) }
      center.removeObserver(last)
    }()
    center.removeObserver(token)
  }

  @Test("Notifications for different modes are posted in the order in which they were enqueued")
  func order() {
    withQueue { queue in
      for number in 0..<12 {
        let modes = [RunLoop.Mode.default, RunLoop.Mode("mode \(number % 3)")]
        queue.enqueue(
          Notification(name: .init("\(number)")), postingStyle: number % 4 == 3 ? .whenIdle : .asap,
          coalesceMask: [], forModes: modes)
      }
      queue.enqueue(
        Notification(name: .init("4")), postingStyle: .asap, coalesceMask: .onName, forModes: nil)
    }
    let order = [0, 1, 2, 5, 6, 8, 9, 10, 4, 3, 7, 11]
    #expect(heard.values.dropLast() == order.map { "\($0) about nothing" }[...])
  }

  @Test("K16 values are compared with those of the same hash alone", arguments: [1_000, 4_000])
  func values(count: Int) {
    let compared = Recorder<Int>()
    withQueue { queue in
      for _ in 0..<2 {
        for number in 0..<count {
          let value = CountedValue(number: number, compared: compared)
          queue.enqueue(
            Notification(name: .tick, object: value), postingStyle: .asap,
            coalesceMask: [.onName, .onSender], forModes: nil)
          queue.enqueue(
            Notification(name: .tick, object: value), postingStyle: .asap, coalesceMask: .onSender,
            forModes: nil)
        }
      }
    }
    // Of each value one waits at the end, which was compared three times.
    #expect(heard.values.count { $0 == "Tick about something" } == count)
    #expect(compared.count <= count * 3)
  }

  @Test("Values that are not equal are not taken for each other, also with one hash")
  func sameHash() {
    struct Odd: Hashable, Sendable {
      let number: Int
      func hash(into hasher: inout Hasher) {}
    }
    withQueue { queue in
      for number in [1, 2, 1] {
        queue.enqueue(
          Notification(name: .tick, object: Odd(number: number)), postingStyle: .asap,
          coalesceMask: .onSender, forModes: nil)
      }
    }
    #expect(heard.values.count { $0 == "Tick about something" } == 2)
  }

  @Test("An object in its deinit is not kept: what waits is posted about nothing, each by itself")
  func deinitializing() {
    withQueue { queue in
      for _ in 0..<2 {
        // What is not Sendable is touched on this thread alone.
        nonisolated(unsafe) let queue = queue
        _ = Ending { ending in
          for _ in 0..<2 {
            unsafe queue.enqueue(Notification(name: .tick, object: ending), postingStyle: .asap)
          }
        }
      }
    }
    #expect(heard.values.count { $0 == "Tick about nothing" } == 4)
  }
}
