import CampanileNotificationCenter
import Foundation
import Testing

import class CampanileNotificationCenter.NotificationCenter
import class CampanileNotificationCenter.NotificationQueue

@Suite("The modes of a notification queue")
struct NotificationQueueModeTests {
  private let center = NotificationCenter()
  private let heard = Recorder<String>()

  /// Enqueues notifications, and then runs the run loop in the default mode until all are posted.
  private func enqueue(_ all: [(NotificationQueue.PostingStyle, [RunLoop.Mode])]) {
    let token = center.addObserver(forName: nil, object: nil, queue: nil) { [heard] in
      heard.record($0.name.rawValue)
    }
    onThread { [center, heard] in
      let queue = NotificationQueue(notificationCenter: center)
      for (index, (style, modes)) in all.enumerated() {
        queue.enqueue(
          Notification(name: .init("\(index + 1)")), postingStyle: style, coalesceMask: [],
          forModes: modes)
      }
      let end = Date(timeIntervalSinceNow: 600)
      while heard.count < all.count, Date() < end {
        _ = RunLoop.current.run(mode: .default, before: Date())
      }
    }()
    center.removeObserver(token)
  }

  @Test("The common modes and the default mode keep one order")
  func order() {
    enqueue([(.asap, [.default]), (.asap, [.common]), (.asap, [.default])])
    #expect(heard.values == ["1", "2", "3"])
  }

  @Test("Nothing is idle while a notification for the common modes is due")
  func idle() {
    enqueue([(.whenIdle, [.default]), (.asap, [.common])])
    #expect(heard.values == ["2", "1"])
  }

  /// Enqueues notifications, with an observer of the first one that runs the run loop as `run` does.
  private func enqueue(_ modes: [RunLoop.Mode], whileFirst run: @escaping @Sendable () -> Void) {
    let token = center.addObserver(forName: .init("1"), object: nil, queue: nil) { [heard] _ in
      run()
      heard.record("returned")
    }
    enqueue(modes.map { (.asap, [$0]) })
    center.removeObserver(token)
  }

  @Test("While an observer runs the run loop, what waits for the same modes alone goes on waiting")
  func nested() {
    enqueue([.default, .default]) {
      for _ in 0..<5 { _ = RunLoop.current.run(mode: .default, before: Date()) }
    }
    #expect(heard.values == ["returned", "1", "2"])
  }

  @Test("While an observer runs the run loop, a turn for other modes posts all that is due")
  func nestedForOtherModes() {
    enqueue([.default, .default, .common, .default]) { [heard] in
      let end = Date(timeIntervalSinceNow: 600)
      while heard.count < 3, Date() < end {
        _ = RunLoop.current.run(mode: .default, before: Date())
      }
    }
    #expect(heard.values == ["2", "3", "4", "returned", "1"])
  }

  @Test(
    "In the default mode, a notification for that mode is posted now, and none for the common ones")
  func now() {
    let token = center.addObserver(forName: .tick, object: nil, queue: nil) { [center, heard] _ in
      #expect(RunLoop.current.currentMode == .default)
      let queue = NotificationQueue(notificationCenter: center)
      for mode in [RunLoop.Mode.common, .default, RunLoop.Mode("another mode")] {
        queue.enqueue(
          Notification(name: .init(mode.rawValue)), postingStyle: .now, coalesceMask: [],
          forModes: [mode])
      }
      heard.record("returned")
    }
    let all = center.addObserver(forName: nil, object: nil, queue: nil) { [heard] in
      heard.record($0.name.rawValue)
    }
    onThread { [center, heard] in
      NotificationQueue(notificationCenter: center).enqueue(
        Notification(name: .tick), postingStyle: .asap)
      let end = Date(timeIntervalSinceNow: 600)
      while !heard.values.contains("Tick"), Date() < end {
        _ = RunLoop.current.run(mode: .default, before: Date())
      }
    }()
    center.removeObserver(token)
    center.removeObserver(all)
    #expect(heard.values == [RunLoop.Mode.default.rawValue, "returned", "Tick"])
  }
}
