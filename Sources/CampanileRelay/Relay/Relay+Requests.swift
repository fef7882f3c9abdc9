public import Campanile

extension Relay {
  /// Asks whoever answers such requests, and waits for the first answer.
  ///
  /// ```swift
  /// let names = try await relay.request(WhoIsThere(), as: [String].self, within: .seconds(1))
  /// ```
  ///
  /// A request is sent once, and heard in order with the messages that were posted before.
  ///
  /// - Parameters:
  ///   - message: What is asked; its relay subject is the name of the request.
  ///   - type: What an answer is decoded as.
  ///   - limit: How long to wait.
  /// - Returns: The first answer.
  /// - Throws: A ``RelayError``: ``RelayError/Code/nobodyAnswers`` at once if nobody does,
  ///   ``RelayError/Code/timedOut``, ``RelayError/Code/failed`` with what the other side threw,
  ///   ``RelayError/Code/disconnected``. An error of the decoder, or of the encoder.
  ///   `CancellationError` if the task is canceled.
  public func request<M: RelayedMessage, Reply: Decodable & Sendable>(
    _ message: M, as type: Reply.Type = Reply.self, within limit: Duration
  ) async throws -> Reply {
    let bytes = try await request(
      raw: try message.relayPayload(), of: M.relaySubject.name(of: message),
      version: UInt32(clamping: M.relayVersion), within: limit)
    return try JSON.decode(type, from: bytes)
  }

  /// Asks with bytes, under a name, and returns the bytes of the first answer.
  ///
  /// As ``request(_:as:within:)``.
  public func request(
    raw bytes: [UInt8], to subject: String, within limit: Duration
  ) async throws -> [UInt8] {
    precondition(
      SubjectName.isName(subject),
      "A request was sent to \"\(subject)\"; a name has tokens with dots between them, without "
        + "spaces and without the signs * and >")
    return try await request(raw: bytes, of: subject, version: 0, within: limit)
  }

  private func request(
    raw bytes: [UInt8], of subject: String, version: UInt32, within limit: Duration
  ) async throws -> [UInt8] {
    let waiting = core.waiting
    let correlation = Locked<UInt64?>(nil)
    // The task that ends the wait is canceled with this one, or by the answer.
    let result = await withTaskGroup(of: Void.self) { group in
      let result = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          guard let number = waiting.request(continuation) else { return }
          correlation.withLock { $0 = number }
          core.send(
            .request(
              correlation: number, subject: subject, version: version, payload: bytes,
              milliseconds: limit.milliseconds))
          group.addTask {
            try? await Task.sleep(for: limit)
            if Task.isCancelled { return }
            waiting.end(
              number, .failure(RelayError(.timedOut, "No answer came within \(limit).")))
          }
          if Task.isCancelled { waiting.end(number, .failure(RelayError(.ended, "Canceled."))) }
        }
      } onCancel: {
        let number = correlation.withLock { $0 }
        if let number { waiting.end(number, .failure(RelayError(.ended, "Canceled."))) }
      }
      group.cancelAll()
      return result
    }
    try Task.checkCancellation()
    return try result.get()
  }

  /// Answers requests of a type until the token is released.
  ///
  /// ```swift
  /// let token = relay.answer(WhoIsThere.self) { _ in ["me"] }
  /// ```
  ///
  /// Each request is answered in a task of its own. If several relays answer, the first answer
  /// counts. It is in force when ``flush()`` returns.
  ///
  /// - Parameters:
  ///   - type: The type, whose relay subject is the name.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  ///   - answer: What it throws is told to whoever asks.
  public func answer<M: RelayedMessage, Reply: Encodable & Sendable>(
    _ type: M.Type, file: StaticString = #fileID, line: UInt = #line,
    _ answer: @escaping @Sendable (M) async throws -> Reply
  ) -> ObservationToken {
    answerRaw(M.relaySubject.pattern(where: [:]), file, line) { request in
      let message = try M(relayPayload: request.bytes, version: request.version)
      return try JSON.encode(try await answer(message))
    }
  }

  /// Answers requests under the names that a pattern fits, with bytes, until the token is released.
  ///
  /// As ``answer(_:file:line:_:)``.
  ///
  /// - Parameters:
  ///   - pattern: As in ``raw(_:)``.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  ///   - answer: Given the name and the bytes of the request.
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
    let known = checked(pattern)
    let source = Signal(
      base: Listening(core, to: pattern, answers: true, core.requests.signal) {
        known.matches($0.subject)
      })
    return source.observe(file: file, line: line) { [weak core = core] request in
      Task {
        do {
          core?.reply(to: request, .answered, try await answer(request))
        } catch {
          core?.reply(to: request, .failed, Array("\(error)".utf8))
        }
      }
    }
  }
}

/// A request that came.
struct IncomingRequest: Sendable {
  let from: UInt64
  let correlation: UInt64
  let subject: String
  let version: Int
  let bytes: [UInt8]
}

extension RelayCore {
  fileprivate func reply(to request: IncomingRequest, _ status: AnswerStatus, _ payload: [UInt8]) {
    send(.reply(to: request.from, correlation: request.correlation, status, payload: payload))
  }
}

extension Duration {
  /// Rounded up, and as many as a number of 32 bits can be.
  fileprivate var milliseconds: UInt32 {
    UInt32(
      clamping: components.seconds.multipliedReportingOverflow(by: 1_000).partialValue
        .addingReportingOverflow(components.attoseconds / 1_000_000_000_000_000 + 1).partialValue)
  }
}
