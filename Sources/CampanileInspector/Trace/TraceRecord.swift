import Campanile
import Dispatch

/// An event as a trace stores it.
///
/// It holds no registration, so it keeps nothing alive.
struct TraceRecord: Sendable {
  let kind: SourceEvent.Kind
  let isAsynchronous: Bool
  /// The number of the observer's place, which the storage gives it.
  var place: Int?
  /// The number of the place of the observer that posted, if it is known.
  var parentPlace: Int?
  /// The number of the call stack from which a value was posted.
  var callers: UInt32?
  let source: UInt64
  let valueType: any Any.Type
  /// The name of the post, if the source has names.
  let name: String?
  let ownerType: (any AnyObject.Type)?
  let subject: ObjectIdentifier?
  let post: UInt64?
  let parent: UInt64?
  let registration: UInt64?
  let thread: UInt64
  let time: UInt64
  let began: UInt64
  let nestedTime: UInt64
  /// The description of the posted value, which the storage sets on request.
  var value: String?

  init(_ event: SourceEvent) {
    kind = event.kind
    isAsynchronous = event.isAsynchronous
    source = event.sourceNumber
    valueType = event.valueType
    name = event.name
    ownerType = event.ownerType
    subject = event.subject
    post = event.postNumber
    parent = event.parentNumber
    registration = event.registration?.number
    thread = event.thread
    time = event.time
    began = event.began
    nestedTime = event.nestedTime
  }

  /// The observer of the event, unique in the process.
  var observer: ObserverKey? { registration.map { ObserverKey(source: source, registration: $0) } }

  /// The delivery, also for a call that is no part of a post, as the first call for a state.
  var call: DeliveryKey? { observer.map { DeliveryKey(post: post ?? 0, observer: $0) } }

  /// The delivery of the event: one post to one observer.
  var delivery: DeliveryKey? {
    guard let post, let observer else { return nil }
    return DeliveryKey(post: post, observer: observer)
  }
}

extension ContinuousClock.Instant {
  /// When the clock of the events was at 0.
  private static let eventStart = now - .nanoseconds(DispatchTime.now().uptimeNanoseconds)

  /// - Parameter nanoseconds: The time of an event.
  init(ofEvent nanoseconds: UInt64) { self = Self.eventStart + .nanoseconds(nanoseconds) }
}

/// A registration, unique among all sources.
struct ObserverKey: Hashable, Sendable {
  let source: UInt64
  let registration: UInt64
}

/// The delivery of one post to one observer.
struct DeliveryKey: Hashable, Sendable {
  let post: UInt64
  let observer: ObserverKey
}

/// The place where observers were registered, with their delivery.
struct ObserverPlace: Sendable {
  let file: String
  let line: Int
  let delivery: String
}
