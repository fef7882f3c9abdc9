public import Campanile

/// Where code ran, as far as it can be known.
///
/// A place is taken when something is recorded. That a queue, a target or an actor is the place is
/// known if the recorder was told of it: by observing there, with ``Recorder/recognize(_:)``, or by
/// ``Recorder/record(_:on:)``.
public struct RecordedPlace: Sendable, CustomStringConvertible {
  /// Whether it was the main queue or the main actor, on whatever thread.
  public let isMain: Bool
  /// A number that no other thread has as long as that one lives.
  public let thread: UInt
  /// The first of the recorder's deliveries whose place it was.
  public let delivery: Delivery?
  /// The identity of the actor, if the recorder was told it.
  public let actor: ObjectIdentifier?

  /// The place where the caller runs.
  static func current(among known: [Delivery], actor: (any Actor)? = nil) -> RecordedPlace {
    RecordedPlace(
      isMain: SourceRegistry.isOnMain, thread: SourceRegistry.currentThread,
      delivery: known.first { $0.isCurrent }, actor: actor.map { ObjectIdentifier($0) })
  }

  /// Whether it was the place of `delivery`, if the recorder was to recognize that.
  ///
  /// The main queue is recognized anyway. For `.immediate`, which has no place, the answer is no.
  public func isOn(_ delivery: Delivery) -> Bool {
    guard let mailbox = delivery.mailbox else { return false }
    return self.delivery?.mailbox === mailbox || isMain && mailbox === Delivery.mainQueue.mailbox
  }

  /// Whether it was `actor`, if the recorder was told it; the main actor is recognized anyway.
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
