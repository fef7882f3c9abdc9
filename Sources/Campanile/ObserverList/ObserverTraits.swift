/// What a registration needs beyond its closure, where it needs more.
final class ObserverDetails: Sendable {
  /// The owner, never kept alive by us.
  private let ownerReference: OwnerReference<AnyObject>?
  let ownerType: (any AnyObject.Type)?
  let ownerID: ObjectIdentifier?
  let delivery: String
  /// Whether the calls are made in tasks.
  let isAsynchronous: Bool
  /// What happens once, when the registration has ended; called outside all locks.
  let onEnd: (@Sendable (Registration) -> Void)?
  /// What happens instead, when the source had finished before.
  let onRefused: (@Sendable () -> Void)?
  let buffer: BufferCounts?
  /// Who keeps what the observer misses while it is paused, if anybody does.
  let skipKeeper: (any SkipKeeper)?

  init(
    owner: (any AnyObject & Sendable)? = nil,
    delivery: String,
    isAsynchronous: Bool = false,
    buffer: BufferCounts? = nil,
    skipKeeper: (any SkipKeeper)? = nil,
    onEnd: (@Sendable (Registration) -> Void)? = nil,
    onRefused: (@Sendable () -> Void)? = nil
  ) {
    ownerReference = owner.map { OwnerReference($0) }
    ownerType = owner.map { type(of: $0) }
    ownerID = owner.map { ObjectIdentifier($0) }
    self.delivery = delivery
    self.isAsynchronous = isAsynchronous
    self.buffer = buffer
    self.skipKeeper = skipKeeper
    self.onEnd = onEnd
    self.onRefused = onRefused
  }

  /// What is known of a registration whose source looks at the owner now and then, and no more.
  init(
    swept owner: OwnerReference<AnyObject>?, delivery: String,
    onEnd: (@Sendable (Registration) -> Void)?
  ) {
    ownerReference = owner
    ownerType = nil
    ownerID = nil
    self.delivery = delivery
    isAsynchronous = false
    buffer = nil
    skipKeeper = nil
    self.onEnd = onEnd
    onRefused = nil
  }

  /// Whether there was an owner.
  var hasOwner: Bool { ownerReference != nil }

  var counters: DeliveryCounters? { buffer?.counters }

  /// Whether there was an owner and its deinit has begun.
  var isOwnerGone: Bool { ownerReference.map { $0.object == nil } ?? false }
}

/// How a registration is to be kept.
struct ObserverTraits {
  var location: SourceLocation
  var isOnce = false
  var isOrdered = false
  var isTold = false
  /// Whether the call goes on in a task, and ends a registration of one call itself.
  var isLasting = false
  var details: ObserverDetails?
}
