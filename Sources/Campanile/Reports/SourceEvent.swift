/// A step of a post, or the beginning or end of a registration, for metrics and traces.
///
/// The `events` of a ``MessageCenter``, a ``Broadcaster`` or a ``CurrentValue`` send these events:
///
/// ```swift
/// self.token = MessageCenter.default.events.observe { event in
///   if event.kind == .dropped { drops.increment() }
/// }
/// ```
///
/// An event is sent on the thread on which it happens, and all events of one post have the same
/// ``postNumber``. To record and read events, see `Trace` in the module CampanileInspector.
public struct SourceEvent: Sendable {
  /// The kinds of events.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// A value was posted or sent, with or without observers.
    case posted
    /// The post is about to return; its immediate observers have been called.
    ///
    /// At a ``CurrentValue`` that is notifying its followers, a set returns before they are called.
    case postReturned
    /// A delivery to one observer was queued, for its target or in the observer's own buffer.
    ///
    /// It is followed by `called`, `skipped`, `dropped` or the `ended` of the registration, unless
    /// the registration ends on another thread at that time, when `ended` may be first. For a
    /// sequence nothing follows, because its reader is not an observer.
    case queued
    /// An observer is about to be called.
    ///
    /// The call has begun: to cancel the registration now does not prevent it.
    ///
    /// A filter may still leave the value out, unless the observer has a bounded buffer, and so may a
    /// state whose observer knows the value already, or an equal one with `.distinct`. An observer
    /// whose owner has just died is not called, and `ended` and `returned` follow. A ``Multicast``
    /// calls no member after an error.
    case called
    /// The call of an observer has returned, or has thrown.
    case returned
    /// A value found an observer's buffer full, or was discarded with its target.
    ///
    /// If several threads post at once, each may report a value that a sequence has dropped only once.
    /// The newest value for an observer that begins or resumes is reported, too, if newer values
    /// replace it, or its target discards it. ``Registration/droppedCount`` is exact.
    case dropped
    /// A delivery was due while the registration was paused.
    case skipped
    /// An observer has thrown; `returned` follows.
    case failed
    /// An observer was registered.
    case registered
    /// A registration ended.
    case ended
  }

  /// The kind of the event.
  public let kind: Kind
  /// The number of the source, which is unique in the process.
  public let sourceNumber: UInt64
  /// The type of the message or value.
  public let valueType: any Any.Type
  /// The name that was posted, in sources with names, such as Foundation's centers; only for
  /// `posted`.
  public internal(set) var name: String?
  /// The identity of the instance that the message is about; only for `posted`.
  ///
  /// It is valid while that instance lives. A later instance may have the same identity.
  public internal(set) var subject: ObjectIdentifier?
  /// The system's number of the thread on which the event happened.
  public let thread: UInt64
  /// The time of the event, on the clock of `DispatchTime.uptimeNanoseconds`.
  package let nanoseconds: UInt64
  package internal(set) var beganNanoseconds: UInt64
  package internal(set) var nestedNanoseconds: UInt64 = 0
  /// The description of the posted value, by `String(describing:)`; only for `posted`, and only on
  /// request.
  package internal(set) var value: String?
  private let observer: ObserverFacts?
  private let post: UInt64
  /// The call of an observer that made this post; only for `posted`.
  package internal(set) var cause: Cause?

  /// The time of the event.
  ///
  /// The time for which the computer sleeps is not counted: it takes no part in the difference of two
  /// such times, and after a sleep they are behind the clock.
  public var time: ContinuousClock.Instant { .init(ofEvent: nanoseconds) }
  /// When the call began, for `returned`; when the post began, for all other kinds.
  ///
  /// It equals ``time`` if the event is not part of a call or post, or if the beginning is unknown.
  public var began: ContinuousClock.Instant { .init(ofEvent: beganNanoseconds) }
  /// The time that calls nested in this call took on its thread; only for `returned`.
  ///
  /// Calls of sources whose events are not observed don't count.
  public var nestedTime: Duration { .nanoseconds(nestedNanoseconds) }

  /// The number of the post that the event is part of, which is unique in the process.
  ///
  /// It is `nil` for `registered` and `ended`, for a value that a sequence drops, for the calls
  /// with which a state begins or resumes an observer, for the failure of an observer of a state,
  /// and for a post that was made before the events had an observer.
  public var postNumber: UInt64? { post == 0 ? nil : post }
  /// The number of the post whose observer made this post; only for `posted`.
  ///
  /// It is known across queues, actors and tasks if the events of the other post's source are
  /// observed too, also in a task that an observer starts with `Task { }`, however long it runs. A
  /// block that an observer passes to a queue itself, and a detached task, do not count as the
  /// observer.
  public var parentNumber: UInt64? { cause.flatMap { $0.post == 0 ? nil : $0.post } }
  /// The registration of the observer; `nil` for `posted` and `postReturned`.
  public var registration: Registration? { observer?.registration }
  /// The file in which the observer was registered, as `#fileID` names it.
  public var file: String? { observer?.location.fileName }
  /// The line at which the observer was registered.
  public var line: Int? { observer?.location.line }
  /// The type of the observer's owner; `nil` if a token keeps the registration.
  public var ownerType: (any AnyObject.Type)? { observer?.ownerType }
  /// Where the observer runs.
  public var delivery: String? { observer.map { $0.delivery ?? ".immediate" } }
  /// Whether the observer is asynchronous: its call may return on another thread.
  public var isAsynchronous: Bool { observer?.isAsynchronous ?? false }
  /// The place where the observer was registered, which is cheaper than its file's name.
  package var place: CallSite? { observer?.location }

  /// - Parameter valueType: The type of the values, if there is no observer that says it.
  @inline(never)
  init(
    _ kind: Kind, of source: UInt64, _ valueType: (any Any.Type)?, _ observer: ObserverFacts?,
    _ post: PostDetails?, at now: UInt64 = Platform.now
  ) {
    self.kind = kind
    sourceNumber = source
    self.valueType = valueType ?? observer?.registration.list.valueType ?? Never.self
    self.observer = observer
    self.post = post?.number ?? 0
    thread = CallingThread.systemNumber
    nanoseconds = kind == .posted ? post?.nanoseconds ?? now : now
    beganNanoseconds = post.flatMap { $0.number == 0 ? nil : $0.nanoseconds } ?? now
  }
}

extension SourceEvent {
  /// A reported call of an observer, for the code that runs in it and the tasks that it starts; it
  /// retains neither the post nor the observer.
  package struct Cause: Sendable {
    /// The number of the post, or 0.
    let post: UInt64
    /// Where the observer was registered.
    package let place: CallSite
    /// Where the observer runs.
    package let delivery: String?

    /// The innermost such call that the calling code is part of.
    @TaskLocal package static var current: Cause?
  }
}

extension ContinuousClock.Instant {
  /// When the clock of the events was at 0.
  private static let eventStart = now - .nanoseconds(Platform.now)

  package init(ofEvent nanoseconds: UInt64) { self = Self.eventStart + .nanoseconds(nanoseconds) }
}

/// The facts about an observer in events; they keep neither the observer nor its owner.
///
/// They are an object, so that events are short and cheap to copy.
final class ObserverFacts: Sendable {
  let registration: Registration
  let location: CallSite
  let ownerType: (any AnyObject.Type)?
  let delivery: String?
  let isAsynchronous: Bool
  /// Counts what a sequence drops, if the values go to one.
  let sequence: DeliveryCounters?

  init(
    _ registration: Registration, _ location: CallSite,
    ownerType: (any AnyObject.Type)? = nil,
    delivery: String? = nil, isAsynchronous: Bool = false, sequence: DeliveryCounters? = nil
  ) {
    self.registration = registration
    self.location = location
    self.ownerType = ownerType
    self.delivery = delivery
    self.isAsynchronous = isAsynchronous
    self.sequence = sequence
  }

  convenience init(_ observer: AnyObserver, _ registration: Registration) {
    let details = observer.details
    let registration = Registration(
      list: registration.list, id: registration.id,
      counters: registration.counters ?? details?.counters)
    self.init(
      registration, observer.location, ownerType: details?.ownerType,
      delivery: details?.delivery, isAsynchronous: details?.isAsynchronous ?? false,
      sequence: observer.isDeferred ? nil : details?.counters)
  }
}
