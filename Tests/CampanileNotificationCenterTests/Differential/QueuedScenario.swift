import CampanileNotificationCenter
import Foundation
import TestSupport
import Testing

/// One thing to do with a notification queue on a thread of its own, and what is heard.
struct QueuedScenario: Sendable, CustomTestStringConvertible {
  let id: String
  /// What ours must do.
  let expected: [String]
  let run: @Sendable (_ face: QueueFace) -> Void

  init(_ id: String, _ expected: [String], _ run: @escaping @Sendable (QueueFace) -> Void) {
    self.id = id
    self.expected = expected
    self.run = run
  }

  var testDescription: String { id }

  /// What is heard with a queue of ours.
  static func ours(_ run: @escaping @Sendable (QueueFace) -> Void) -> [String] {
    QueuedScenario("", [], run).heard(.ours)
  }

  func heard(_ side: Side) -> [String] {
    let log = Recorder<String>()
    onThread(patiently: true) {
      let face = side.makeQueue(log)
      face.addSource(for: .default)
      run(face)
    }()
    return log.values
  }
}

/// A queue, its center and its thread's run loop, whoever's they are.
struct QueueFace {
  typealias Style = Foundation.NotificationQueue.PostingStyle
  typealias Mask = Foundation.NotificationQueue.NotificationCoalescing

  let side: Side
  let center: any CenterInterface
  let log: Recorder<String>
  let queue: NSObject
  /// Another queue for the center, of the same kind.
  let makeQueue: () -> QueueFace
  let enqueueRaw: (Notification, Style, Mask, [RunLoop.Mode]?) -> Void
  let enqueuePlain: (Notification, Style) -> Void
  let dequeueRaw: (Notification, Mask) -> Void

  func enqueue(
    _ number: Int, _ style: Style, _ mask: Mask = [], of name: Notification.Name = .tick,
    about object: Any? = nil, modes: [RunLoop.Mode]? = nil
  ) {
    let notification = Notification(name: name, object: object, userInfo: ["number": number])
    enqueueRaw(notification, style, mask, modes)
  }

  func dequeue(_ name: Notification.Name, _ object: Any? = nil, _ mask: Mask) {
    dequeueRaw(Notification(name: name, object: object), mask)
  }

  /// Writes down the numbers of what the center posts.
  func listen() {
    center.add(nil) { [log] in log.record("\($0.number)") }
  }

  /// Adds a source that is never due, without which the run loop has nothing to run in a mode.
  func addSource(for mode: RunLoop.Mode) {
    RunLoop.current.add(
      Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: mode)
  }

  /// Lets the run loop take some turns.
  func turn(_ mode: RunLoop.Mode = .default) {
    for _ in 0..<5 { _ = RunLoop.current.run(mode: mode, before: Date()) }
  }

  func mark(_ text: String) { log.record(text) }
}

extension QueueFace {
  typealias TheirQueue = Foundation.NotificationQueue
  typealias OurQueue = CampanileNotificationCenter.NotificationQueue

  static func foundation(
    _ log: Recorder<String>, _ center: Foundation.NotificationCenter = .init(),
    _ own: TheirQueue? = nil
  ) -> QueueFace {
    let queue = own ?? TheirQueue(notificationCenter: center)
    return QueueFace(
      side: .foundation, center: center, log: log, queue: queue,
      makeQueue: { foundation(log, center) },
      enqueueRaw: { queue.enqueue($0, postingStyle: $1, coalesceMask: $2, forModes: $3) },
      enqueuePlain: { queue.enqueue($0, postingStyle: $1) },
      dequeueRaw: { queue.dequeueNotifications(matching: $0, coalesceMask: $1) })
  }

  static func ours(
    _ log: Recorder<String>, _ center: CampanileNotificationCenter.NotificationCenter = .init(),
    _ own: OurQueue? = nil
  ) -> QueueFace {
    let queue = own ?? OurQueue(notificationCenter: center)
    return QueueFace(
      side: .ours, center: center, log: log, queue: queue,
      makeQueue: { ours(log, center) },
      enqueueRaw: { queue.enqueue($0, postingStyle: $1, coalesceMask: $2, forModes: $3) },
      enqueuePlain: { queue.enqueue($0, postingStyle: $1) },
      dequeueRaw: { queue.dequeueNotifications(matching: $0, coalesceMask: $1) })
  }
}
