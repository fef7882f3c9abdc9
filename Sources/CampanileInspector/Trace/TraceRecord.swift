import Campanile

/// An event as a trace stores it.
///
/// It holds no registration, so it keeps nothing alive.
struct TraceRecord: Sendable {
  let kind: SourceEvent.Kind
  let isAsynchronous: Bool
  /// The number of the observer's place, which the storage gives it.
  let place: Int?
  /// The number of the place of the observer that posted, if it is known.
  let parentPlace: Int?
  /// The number of the call stack from which a value was posted.
  let callers: UInt32?
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
  let nanoseconds: UInt64
  let beganNanoseconds: UInt64
  let nestedNanoseconds: UInt64
  /// The description of the posted value, on request.
  let value: String?

  init(
    _ event: SourceEvent, place: Int? = nil, parentPlace: Int? = nil, callers: UInt32? = nil,
    value: String? = nil
  ) {
    (self.place, self.parentPlace, self.callers, self.value) = (place, parentPlace, callers, value)
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
    nanoseconds = event.nanoseconds
    beganNanoseconds = event.beganNanoseconds
    nestedNanoseconds = event.nestedNanoseconds
  }

  /// The time from the beginning of the post or the call to the event.
  var elapsed: Duration {
    .nanoseconds(Int64(clamping: nanoseconds - min(beganNanoseconds, nanoseconds)))
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
