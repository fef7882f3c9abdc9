public import Campanile
import Synchronization

extension Relay {
  /// Sends a request to a relay that answers it, and waits for the answer.
  ///
  /// ```swift
  /// let names = try await relay.request(WhoIsThere(), as: [String].self, within: .seconds(1))
  /// ```
  ///
  /// On one host, the request goes to one relay: the first to join among those that answer such
  /// requests and are not stopped, and the relay that asks only if there is no other. On NATS, it
  /// goes to all relays that answer such requests, and the first answer is returned.
  ///
  /// A request is sent once. It arrives after the messages that were posted before it, except on
  /// NATS with a stream. Requests and answers do not count against the buffer. If a request times
  /// out or is canceled before it is sent, it is not sent; otherwise it may still be answered
  /// later.
  ///
  /// - Parameters:
  ///   - message: The request. Its relay subject is the name of the request.
  ///   - type: The type that the answer is decoded as.
  ///   - limit: How long to wait, at most seven weeks.
  /// - Returns: The answer.
  /// - Throws: A ``RelayError``, whose ``RelayError/Code`` is the reason. It is thrown at once if
  ///   no relay answers such requests, or if the request or its name is too long; a limit of a NATS
  ///   server is found only when the request is to be sent. Also errors of the encoder and the
  ///   decoder, and `CancellationError` if the task is canceled.
  public func request<M: RelayedMessage, Reply: Decodable & Sendable>(
    _ message: M, as type: Reply.Type = Reply.self, within limit: Duration
  ) async throws -> Reply {
    let bytes = try await request(
      raw: try message.relayPayload(), of: M.relaySubject.name(of: message),
      version: UInt32(clamping: M.relayVersion), within: limit)
    return try JSON.decode(type, from: bytes)
  }

  /// Sends bytes under a name as a request, and returns the bytes of the first answer.
  ///
  /// See ``request(_:as:within:)``. A subject with wildcards or spaces is a precondition failure.
  public func request(
    raw bytes: [UInt8], to subject: String, within limit: Duration
  ) async throws -> [UInt8] {
    SubjectName.check(subject, "A request was sent")
    return try await request(raw: bytes, of: subject, version: 0, within: limit)
  }

  private func request(
    raw bytes: [UInt8], of subject: String, version: UInt32, within limit: Duration
  ) async throws -> [UInt8] {
    if let reason = RelayLimits.objection("A request", to: bytes.count, named: subject) {
      throw RelayError(.refused, reason)
    }
    try Task.checkCancellation()
    let core = core
    // The task that ends the wait is canceled with this one, or by the answer.
    let outcome = await withTaskGroup(of: Void.self) { group in
      let outcome = await core.wait { number in
        core.send(
          .request(
            correlation: number, subject: subject, version: version, payload: bytes,
            milliseconds: limit.milliseconds))
        group.addTask {
          // A sleep of more years than a clock can count would be a crash.
          try? await Task.sleep(for: min(limit, .milliseconds(limit.milliseconds)))
          if Task.isCancelled { return }
          core.giveUp(number, RelayError(.timedOut, "No answer came within \(limit)."))
        }
      }
      group.cancelAll()
      return outcome
    }
    try Task.checkCancellation()
    return try outcome.get()
  }

  /// Answers requests of a type until the token is released.
  ///
  /// ```swift
  /// let token = relay.answer(WhoIsThere.self) { _ in ["me"] }
  /// ```
  ///
  /// If an answer has more bytes than a message may have, an error is sent instead.
  ///
  /// Each request is answered in its own task, which does not know the deadline of the process that
  /// asks, and is not canceled at the deadline. On one host, a request is sent to only one of
  /// several relays that answer. Of several answers in a relay, the first is called.
  ///
  /// Other processes can reach the answer when ``flush()`` has returned. After the relay has ended,
  /// or while it is being drained, no request arrives any more.
  ///
  /// - Parameters:
  ///   - type: The type of the requests. Its relay subject is their name.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  ///   - answer: Returns the answer. An error that it throws is sent to the process that asks.
  public func answer<M: RelayedMessage, Reply: Encodable & Sendable>(
    _ type: M.Type, file: StaticString = #fileID, line: UInt = #line,
    _ answer: @escaping @Sendable (M) async throws -> Reply
  ) -> ObservationToken {
    answerRaw(M.relaySubject.pattern(where: [:]), file, line) { request in
      let message = try M(relayPayload: request.bytes, version: request.version)
      return try JSON.encode(try await answer(message))
    }
  }

  /// Answers requests under names that match a pattern, with bytes, until the token is released.
  ///
  /// See ``answer(_:file:line:_:)``.
  ///
  /// - Parameters:
  ///   - pattern: The pattern; see ``raw(_:oneOf:)``.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  ///   - answer: Called with the name and the bytes of the request. It returns the bytes of the
  ///     answer.
  public func answer(
    raw pattern: String, file: StaticString = #fileID, line: UInt = #line,
    _ answer: @escaping @Sendable (_ subject: String, _ bytes: [UInt8]) async throws -> [UInt8]
  ) -> ObservationToken {
    answerRaw(pattern, file, line) { try await answer($0.subject, $0.bytes) }
  }

  private func answerRaw(
    _ pattern: String, _ file: StaticString, _ line: UInt,
    _ answer: @escaping @Sendable (IncomingRequest) async throws -> [UInt8]
  ) -> ObservationToken {
    let pattern = checked(pattern)
    let subscription = Subscription(core, answering: pattern.text)
    let start: @Sendable (IncomingRequest) -> (@Sendable () async -> Void)? = {
      [weak core = core, waiting = core.waiting, subscription] request in
      defer { withExtendedLifetime(subscription) {} }
      guard pattern.matches(request.subject), request.take() else { return nil }
      waiting.answers.begin()
      return {
        await AnswerCall.run {
          do {
            core?.answer(request, try await answer(request))
          } catch {
            core?.fail(request, "\(error)")
          }
        }
        waiting.answers.end()
      }
    }
    return ObservationToken(
      core.requests.signal.register(
        .init(file: file, line: line), ObserverBody(starting: start, file: file, line: line)))
  }

  /// The requests that arrive here, as a source that a `Trace` of CampanileInspector can follow.
  ///
  /// A request is a post of this source, and an asynchronous observer makes its answer, so
  /// `Trace(of: center, relay.requests)` also finds an answer that hangs. The source does not keep
  /// the relay.
  public var requests: some Traceable { core.requests.inspection.named("requests to \(name)") }
}

/// An answer that is being made, which the task that makes it knows by a task-local value.
final class AnswerCall: Sendable {
  @TaskLocal private static var current: AnswerCall?
  private let hasEnded = Atomic<Bool>(false)

  /// Whether the current task is part of an answer; one that an answer has begun may outlive it.
  static var isInside: Bool {
    current.map { !$0.hasEnded.load(ordering: .acquiring) } ?? false
  }

  static func run(_ body: () async -> Void) async {
    let call = AnswerCall()
    await $current.withValue(call) { await body() }
    call.hasEnded.store(true, ordering: .releasing)
  }
}

/// A request that has arrived.
final class IncomingRequest: Sendable {
  let from: UInt64
  let correlation: UInt64
  let subject: String
  let version: Int
  let bytes: [UInt8]
  private let isTakenFlag = Atomic(false)

  init(from sender: UInt64, correlation: UInt64, subject: String, version: Int, bytes: [UInt8]) {
    (from, self.correlation, self.subject) = (sender, correlation, subject)
    (self.version, self.bytes) = (version, bytes)
  }

  /// Whether an observer answers it.
  var isTaken: Bool { isTakenFlag.load(ordering: .acquiring) }

  /// Takes the request, and returns whether it had not been taken before.
  func take() -> Bool { !isTakenFlag.exchange(true, ordering: .acquiringAndReleasing) }
}

extension RelayCore {
  fileprivate func answer(_ request: IncomingRequest, _ payload: [UInt8]) {
    if let reason = RelayLimits.objection("An answer", to: payload.count) {
      return fail(request, reason)
    }
    reply(to: request, .answered, payload)
  }

  fileprivate func fail(_ request: IncomingRequest, _ reason: String) {
    reply(to: request, .failed, Array(reason.utf8.prefix(RelayLimits.payload)))
  }

  /// Passes a request to the observer that answers it.
  ///
  /// If no such observer is left, the relay that asks learns that.
  func deliver(_ request: IncomingRequest) {
    requests.send(request)
    if request.isTaken { return }
    reply(to: request, .nobodyAnswers, [])
  }

  private func reply(to request: IncomingRequest, _ status: AnswerStatus, _ payload: [UInt8]) {
    send(.reply(to: request.from, correlation: request.correlation, status, payload: payload))
  }
}

extension Duration {
  /// Rounded up, and at most as many as a number of 32 bits can be, which is seven weeks.
  var milliseconds: UInt32 {
    let (seconds, attoseconds) = components
    // Clamped first, so that the product does not overflow.
    let whole = Int64(UInt32(clamping: seconds)) * 1_000
    return UInt32(clamping: whole + attoseconds / 1_000_000_000_000_000 + 1)
  }
}
