public import Campanile

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
  /// - Parameter pattern: Tokens with dots between them. `*` matches any one token, and `>` matches
  ///   all tokens that follow. Anything else is a precondition failure.
  public func raw(_ pattern: String) -> Signal<RelayedPayload> {
    let known = checked(pattern)
    return Signal(
      base: Listening(core, to: pattern, core.payloads.signal) { known.matches($0.subject) })
  }

  /// Sends bytes under a name.
  ///
  /// The call takes a lock for a moment. Up to 4,096 bytes are copied, and a longer array is shared.
  /// After the relay has ended, this does nothing.
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
    require(
      SubjectName.hasWholeWildcards(pattern),
      "\"\(pattern)\" is no pattern of names: * and > stand for whole tokens, and not for a part of one"
    )
    do {
      return try SubjectPattern(validating: pattern)
    } catch {
      misuse("\"\(pattern)\" is no pattern of names: \(error)")
    }
  }
}

/// The arriving messages under the names of a pattern, subscribed to while there are observers.
final class Listening<Element: Sendable>: SignalBase {
  private let core: RelayCore
  private let pattern: String
  private let answers: Bool
  private let all: Signal<Element>
  private let isWanted: @Sendable (Element) -> Bool

  /// - Parameters:
  ///   - answers: Whether it is for requests.
  ///   - all: All arriving messages.
  ///   - isWanted: Whether a message matches the pattern.
  init(
    _ core: RelayCore, to pattern: String, answers: Bool = false, _ all: Signal<Element>,
    _ isWanted: @escaping @Sendable (Element) -> Bool
  ) {
    self.core = core
    self.pattern = pattern
    self.answers = answers
    self.all = all
    self.isWanted = isWanted
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>,
    _ options: SourceOptions<Element>
  ) -> Registration {
    let subscription = Subscription(core, to: pattern, answers: answers, nil)
    let wanted = body.mapped(once: options.isOnce, where: isWanted) {
      [isWanted] (message: Element, pass) in
      if isWanted(message) { try pass(message) }
    }
    return all.register(request, wanted.keeping(subscription), SourceOptions())
  }

  var reference: @Sendable () -> (any SignalBase<Element>)? {
    { [weak core, pattern, answers, all, isWanted] in
      core.map { Listening($0, to: pattern, answers: answers, all, isWanted) }
    }
  }
}

/// A pattern that a relay has sent to it, until this is released.
final class Subscription: Sendable {
  private let core: RelayCore
  private let pattern: String
  private let answers: Bool
  private let route: Routes.Route?
  private let isEnded = Locked(false)

  /// - Parameters:
  ///   - answers: Whether it is for requests.
  ///   - body: Called with each arriving message, on the relay's queue.
  init(
    _ core: RelayCore, to pattern: String, answers: Bool = false,
    _ body: (@Sendable (RelayedPayload) -> Void)?
  ) {
    self.core = core
    self.pattern = pattern
    self.answers = answers
    // A pattern of the relay's own, which it has checked.
    route = body.map { Routes.Route(try! SubjectPattern(validating: pattern), $0) }
    if let route { core.routes.add(route) }
    core.want(pattern, answers: answers)
  }

  deinit { end() }

  func end() {
    let isFirst = isEnded.withLock { isEnded in
      defer { isEnded = true }
      return !isEnded
    }
    if !isFirst { return }
    if let route { core.routes.remove(route) }
    core.unwant(pattern, answers: answers)
  }
}
