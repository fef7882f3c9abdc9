import Campanile
import CampanileFoundation
import Dispatch
import Foundation

/// An object that says in its deinit that it ends.
final class Ending: Sendable {
  private let onEnd: @Sendable (Ending) -> Void
  init(_ onEnd: @escaping @Sendable (Ending) -> Void) { self.onEnd = onEnd }
  deinit { onEnd(self) }
}

/// What it says.
struct Ended: TypedNotification, MessageCenter.Message {
  typealias Subject = Ending
  static let notificationName = Notification.Name("Ended")
  var number: Int

  init(number: Int) { self.number = number }
  init(from notification: Notification) throws {
    number = try notification.value(forKey: "number")
  }
  var userInfo: [AnyHashable: any Sendable] { ["number": number] }

  /// Reads the number with the object, which decoders are given.
  static let withObject = NotificationDescriptor(notificationName) { notification in
    let _: Ending = try notification.object()
    let number: Int = try notification.value(forKey: "number")
    return number
  }
}

/// A place where observers run.
enum Place: CaseIterable, Sendable {
  case immediate, main, mainOrdered, mainQueue, queue, queueOrdered, operationQueue, runLoop
  case manual, actor, asynchronous, newest, oldest, sequence

  /// Whether observers there are called before a post returns.
  var isImmediate: Bool { self == .immediate }
}

/// One place of each kind, and what keeps the observers there.
final class Stage: Sendable {
  let heard = Inbox<String>()
  private let queue = TestQueue()
  private let operationQueue = SerialOperationQueue()
  private let worker = Worker()
  private let manual = ManualTarget()
  private let statistics = Statistics()
  private let kept = Recorder<any Sendable>()
  private let tasks = Recorder<Task<Void, Never>>()

  deinit {
    for task in tasks.values { task.cancel() }
    worker.stop()
  }

  /// Lets deliveries wait where that is possible.
  func hold() {
    queue.hold()
    operationQueue.isSuspended = true
  }

  /// - Parameter isHeld: whether `hold` has been called.
  func letGo(isHeld: Bool = true) {
    if isHeld {
      queue.letGo()
      operationQueue.isSuspended = false
    }
    manual.runJobs()
  }

  func keep(_ token: any Sendable) { kept.record(token) }

  func keepReading(_ task: Task<Void, Never>) { tasks.record(task) }

  /// Observes at a place that is a delivery.
  func delivery(_ place: Place) -> (delivery: Delivery, buffering: Buffering)? {
    switch place {
    case .immediate: (.immediate, .unbounded)
    case .mainQueue: (.queue(.main), .unbounded)
    case .queue: (queue.delivery, .unbounded)
    case .queueOrdered: (queue.delivery.ordered, .unbounded)
    case .operationQueue: (.operationQueue(operationQueue), .unbounded)
    case .runLoop: (worker.delivery, .unbounded)
    case .manual: (manual.delivery, .unbounded)
    case .newest: (queue.delivery, .newest(10_000))
    case .oldest: (queue.delivery, .oldest(10_000))
    case .main, .mainOrdered, .actor, .asynchronous, .sequence: nil
    }
  }

  func observe<Source: ObservationSource>(
    _ source: Source, at place: Place, _ hear: @escaping @Sendable (Source.Element) -> Void
  ) {
    if let (delivery, buffering) = delivery(place) {
      keep(source.observe(on: delivery.buffered(buffering)) { hear($0) })
      return
    }
    switch place {
    case .main: keep(source.observe(on: .main) { hear($0) })
    case .mainOrdered: keep(source.observe(on: .main(ordered: true)) { hear($0) })
    case .actor: source.observe(on: statistics) { hear($1) }
    case .asynchronous: keep(source.observeAsync { hear($0) })
    default:
      let values = source.values()
      keepReading(Task { for await value in values { hear(value) } })
    }
  }
}
