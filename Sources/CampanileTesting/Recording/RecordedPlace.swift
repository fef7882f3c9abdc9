public import Campanile

/// The place where code ran, as far as it can be determined.
///
/// The place is determined when a value is recorded. A queue, a target or an actor is recognized
/// only if the recorder knows of it: because it observes there, because the place was passed to
/// ``Recorder/recognize(_:)``, or the actor to ``Recorder/record(_:on:)``.
public struct RecordedPlace: Sendable, CustomStringConvertible {
  /// Whether it was the main queue or the main actor, on any thread.
  public let isMain: Bool
  /// A number that identifies the thread among all living threads.
  public let thread: UInt
  /// The first of the recorder's deliveries whose place it was.
  public let delivery: Delivery?
  /// The identity of the actor, if the recorder knows it.
  public let actor: ObjectIdentifier?
  /// All of the recorder's deliveries whose place it was.
  ///
  /// Code that a manual delivery runs on a queue is on both.
  private let deliveries: [Delivery]

  /// The place where the calling code runs.
  ///
  /// - Parameters:
  ///   - known: The deliveries that the recorder knows.
  ///   - actor: The actor that the code is isolated to.
  ///   - mailbox: What waits at the place, if an observer of the recorder is being called there. Not
  ///     every place can tell whether code runs there.
  static func current(
    among known: [Delivery], actor: (any Actor)?, observingOn mailbox: Mailbox?
  ) -> RecordedPlace {
    let deliveries = known.filter { $0.mailbox === mailbox || $0.isCurrent }
    return RecordedPlace(
      isMain: MainDelivery.main.delivery.isCurrent, thread: CallingThread.id,
      delivery: deliveries.first, actor: actor.map { ObjectIdentifier($0) },
      deliveries: deliveries)
  }

  /// Whether it was the place of `delivery`, if the recorder recognizes that delivery.
  ///
  /// The main queue is always recognized. For `.immediate`, which has no place, the result is
  /// `false`.
  public func isOn(_ delivery: Delivery) -> Bool {
    guard let mailbox = delivery.mailbox else { return false }
    return deliveries.contains { $0.mailbox === mailbox }
      || isMain && mailbox === MainDelivery.main.delivery.mailbox
  }

  /// Whether it was `actor`, if the recorder knows that actor.
  ///
  /// The main actor is always recognized.
  public func isOn(_ actor: any Actor) -> Bool {
    self.actor == ObjectIdentifier(actor) || isMain && actor === MainActor.shared
  }

  /// The delivery, or `.main`, or the thread.
  public var description: String {
    if let delivery { return "\(delivery)" }
    if isMain { return ".main" }
    return actor == nil ? "thread \(String(thread, radix: 16))" : "an actor"
  }
}
