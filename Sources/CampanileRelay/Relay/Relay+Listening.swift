public import Campanile

/// A message as it came, not decoded.
public struct RelayedPayload: Sendable {
  /// The name under which it travels.
  public let subject: String
  /// Who sent it.
  public let sender: RelayPeer
  /// The version of the type that encoded it.
  public let version: Int
  /// What was encoded, JSON unless the type says otherwise.
  public let bytes: [UInt8]
  /// Where it has been.
  let path: [PathStep]
}

extension Relay {
  /// What others send under names that a pattern fits, not decoded.
  ///
  /// ```swift
  /// for await payload in relay.raw("player.>").values(buffering: .newest(100)) { … }
  /// ```
  ///
  /// It is sent to this process while somebody observes; an observation is in force when
  /// ``flush()`` returns.
  ///
  /// - Parameter pattern: Tokens with dots between them, `*` for any one of them, `>` for all that
  ///   follow. What is no pattern is a precondition failure.
  public func raw(_ pattern: String) -> Signal<RelayedPayload> {
    let known = checked(pattern)
    return Signal(
      base: Listening(core, to: pattern, core.payloads.signal) { known.matches($0.subject) })
  }

  /// Sends bytes under a name.
  ///
  /// - Parameters:
  ///   - bytes: At most a megabyte.
  ///   - subject: Tokens with dots between them. What is no name is a precondition failure.
  ///   - version: Travels along.
  public func post(raw bytes: [UInt8], to subject: String, version: Int = 0) {
    precondition(
      SubjectName.isName(subject),
      "Bytes were posted to \"\(subject)\"; a name has tokens with dots between them, without "
        + "spaces and without the signs * and >")
    core.send(OutgoingMessage(raw: bytes, subject: subject, version: version))
  }

  /// Reports what came under a name and is not of the kind that belongs there, on the relay's queue.
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
      preconditionFailure("\"\(pattern)\" is no pattern of names: \(error)")
    }
  }
}

/// What comes under the names of a pattern, while somebody observes.
final class Listening<Element: Sendable>: SignalBase {
  private let core: RelayCore
  private let pattern: String
  private let answers: Bool
  private let all: Signal<Element>
  private let isWanted: @Sendable (Element) -> Bool

  /// - Parameters:
  ///   - answers: Whether it is for requests.
  ///   - all: What comes, under whatever name.
  ///   - isWanted: Whether the pattern fits.
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
    let wanted = body.mapped(once: options.isOnce, where: isWanted) { [isWanted] in
      isWanted($0) ? $0 : nil
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
  ///   - body: Called with what comes, on the relay's queue.
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
    if core.routes.want(key) { core.send(answers ? .answer(pattern) : .subscribe(pattern)) }
  }

  deinit { end() }

  private var key: String { answers ? "?" + pattern : pattern }

  func end() {
    let isFirst = isEnded.withLock { isEnded in
      defer { isEnded = true }
      return !isEnded
    }
    if !isFirst { return }
    if let route { core.routes.remove(route) }
    if core.routes.unwant(key) {
      core.send(answers ? .stopAnswering(pattern) : .unsubscribe(pattern))
    }
  }
}
