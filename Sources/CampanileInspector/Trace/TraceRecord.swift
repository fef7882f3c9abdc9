import Campanile

/// An event as a trace keeps it: it holds no registration, so that nothing is kept alive by it.
struct TraceRecord: Sendable {
  let kind: SourceEvent.Kind
  let isAsynchronous: Bool
  /// The number of the place where the observer was registered.
  let place: UInt32?
  /// The number of the call stack from which a value was posted.
  var callers: UInt32?
  let source: UInt64
  let valueType: any Any.Type
  /// The name of what was posted, where the source has names.
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
  let value: String?

  init(_ event: SourceEvent) {
    kind = event.kind
    isAsynchronous = event.isAsynchronous
    place = event.placeNumber
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
    value = event.value
  }

  /// Which observer it is about, in the whole process.
  var observer: ObserverKey? { registration.map { ObserverKey(source: source, registration: $0) } }

  /// Which delivery it is about: of one post to one observer.
  var delivery: DeliveryKey? {
    guard let post, let observer else { return nil }
    return DeliveryKey(post: post, observer: observer)
  }
}

/// A registration among those of all sources.
struct ObserverKey: Hashable, Sendable {
  let source: UInt64
  let registration: UInt64
}

/// One post's delivery to one observer.
struct DeliveryKey: Hashable, Sendable {
  let post: UInt64
  let observer: ObserverKey
}

/// Where an observer was registered, with what is known of all that were registered there.
struct ObserverPlace: Sendable {
  let file: String
  let line: Int
  let delivery: String
}
