public import Campanile
import Synchronization

/// A message as it arrived, not decoded.
public struct RelayedPayload: Sendable {
  /// The name under which it was sent.
  public let subject: String
  /// The relay that sent it.
  public let sender: RelayPeer
  /// The sender's version of the type.
  public let version: Int
  /// The encoded message: JSON, unless the type supplies its own bytes.
  public let bytes: [UInt8]
  /// Where it has been.
  let path: [PathStep]
  /// Waits for its deliveries, if the link does.
  var tracker: DeliveryTracker?
}

extension Relay {
  /// The messages that other relays send under names that match a pattern, not decoded.
  ///
  /// ```swift
  /// for await payload in relay.raw("player.>").values(buffering: .newest(100)) { … }
  /// ```
  ///
  /// The messages are sent to this process only while the signal has observers. An observation is
  /// in effect when ``flush()`` returns. After the relay has ended, an observation ends at once.
  ///
  /// The cost of a message depends on the observers that receive it. If its name was not among the
  /// last 4,096, it is also compared with all patterns that have wildcards.
  ///
  /// - Parameters:
  ///   - pattern: Tokens with dots between them. `*` matches any one token, and `>` matches all tokens
  ///     that follow. Anything else is a precondition failure.
  ///   - group: A group that shares the messages; see ``RelayFilter/oneOf(_:)``.
  public func raw(_ pattern: String, oneOf group: String? = nil) -> Signal<RelayedPayload> {
    let group = group.map(SubjectName.checkedGroup)
    return Signal(base: Hearing(core, to: checked(pattern).text, in: group))
  }

  /// Sends bytes under a name.
  ///
  /// The call takes a lock for a moment. Up to 4,096 bytes are copied; a longer array is shared.
  /// After the relay has ended, this has no effect.
  ///
  /// - Parameters:
  ///   - bytes: At most a megabyte. More bytes are not sent, and an event of the kind
  ///     ``RelayEvent/Kind/refused`` says so.
  ///   - subject: Tokens with dots between them. Anything else is a precondition failure.
  ///   - version: A version to send with the bytes.
  public func post(raw bytes: [UInt8], to subject: String, version: Int = 0) {
    core.send(raw: bytes, to: subject, version: UInt32(clamping: version))
  }

  /// Posts bytes, and calls `whenQueued` before any later post through this relay.
  ///
  /// A lock is held meanwhile, so it must not run foreign code.
  package func post(raw bytes: [UInt8], to subject: String, whenQueued: () -> Void) {
    core.send(raw: bytes, to: subject, version: 0, whenQueued: whenQueued)
  }

  /// Reports on the relay's queue that a message under a name cannot be decoded as the expected
  /// type.
  package func reportUndecodable(
    _ payload: RelayedPayload, as type: Any.Type, _ error: any Error
  ) {
    core.reportUndecodable(payload, type, error)
  }

  /// Reports what cannot be sent.
  package func reportRefused(_ subject: String, _ reason: String) {
    core.reportRefused(subject, reason)
  }

  func checked(_ pattern: String) -> SubjectPattern {
    do {
      return try SubjectPattern(validating: pattern)
    } catch {
      misuse("\"\(pattern)\" is no pattern of names: \(error)")
    }
  }
}

/// The arriving messages under the names of a pattern, subscribed to while there are observers.
private final class Hearing: SignalBase {
  private let core: RelayCore
  private let pattern: String
  private let group: String?

  init(_ core: RelayCore, to pattern: String, in group: String?) {
    (self.core, self.pattern, self.group) = (core, pattern, group)
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<RelayedPayload>
  ) -> Registration {
    // One for each observer, so that a message finds the observers of its name, and no others.
    let source = Broadcaster<RelayedPayload>()
    let subscription = Subscription(core, to: pattern, in: group, whenEnded: source.finish) {
      [group] payload in
      // An observation that has ended takes no message off the others of its group.
      if group != nil && source.observerCount == 0 { return false }
      source.send(payload, trackedBy: payload.tracker)
      return true
    }
    return source.signal.register(request, body.keeping(subscription))
  }
}

/// A pattern that a relay has sent to it, until this is released.
final class Subscription: Sendable {
  private let core: RelayCore
  private let wanted: Routes.Wanted
  private let route: Routes.Route?
  private let isEnded = Atomic(false)

  /// Hears messages.
  ///
  /// - Parameters:
  ///   - group: The group that shares the messages.
  ///   - whenEnded: Called when the relay has ended, so that no message follows.
  ///   - body: Called with each arriving message, on the relay's queue, and says whether it took it.
  init(
    _ core: RelayCore, to pattern: String, in group: String?,
    whenEnded: @escaping @Sendable () -> Void = {},
    _ body: @escaping @Sendable (RelayedPayload) -> Bool
  ) {
    self.core = core
    wanted = Routes.Wanted(.messages, pattern, group)
    // A pattern of the relay's own, which it has checked.
    let route = Routes.Route(try! SubjectPattern(validating: pattern), in: group, whenEnded, body)
    self.route = route
    core.routes.add(route)
    core.want(wanted)
  }

  /// Answers requests, which `RelayCore.requests` sends.
  init(_ core: RelayCore, answering pattern: String) {
    (self.core, wanted, route) = (core, Routes.Wanted(.requests, pattern), nil)
    core.want(wanted)
  }

  deinit { end() }

  func end() {
    if isEnded.exchange(true, ordering: .acquiringAndReleasing) { return }
    if let route { core.routes.remove(route) }
    core.unwant(wanted)
  }
}
