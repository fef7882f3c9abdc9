import Campanile

/// The calls that wait for the carrier: until sent messages are taken, or for answers.
final class WaitingCalls: Sendable {
  fileprivate enum Wait: Sendable {
    /// Nothing waits yet.
    case made
    case continuation(CheckedContinuation<Result<Void, RelayError>, Never>)
    /// Deliveries of posts that a caller waits for.
    case holds([HeldDelivery])
    case over(Result<Void, RelayError>)
  }

  fileprivate struct State {
    var flushes: [UInt64: Wait] = [:]
    var requests: [UInt64: CheckedContinuation<Result<[UInt8], RelayError>, Never>] = [:]
    var last: UInt64 = 0
    var isEnded = false
  }

  private let state = Locked(State())
  private static var ended: RelayError { RelayError(.ended, "The relay has ended.") }

  // MARK: Flushes

  func makeToken() throws -> UInt64 {
    let token = state.withLock { $0.isEnded ? nil : $0.add(.made) }
    guard let token else { throw Self.ended }
    return token
  }

  /// A token at which deliveries end.
  func makeToken(for holds: [HeldDelivery]) -> UInt64? {
    state.withLock { $0.isEnded ? nil : $0.add(.holds(holds)) }
  }

  func wait(for token: UInt64) async throws {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let over = state.withLock { state -> Result<Void, RelayError>? in
          switch state.flushes[token] {
          case .over(let result):
            state.flushes[token] = nil
            return result
          case nil: return .failure(Self.ended)
          default:
            state.flushes[token] = .continuation(continuation)
            return nil
          }
        }
        if let over { continuation.resume(returning: over) }
      }
    } onCancel: {
      end(token, .success(()))
    }
    try Task.checkCancellation()
    try result.get()
  }

  func flushed(_ token: UInt64) { end(token, .success(())) }

  private func end(_ token: UInt64, _ result: Result<Void, RelayError>) {
    let wait = state.withLock { state -> Wait? in
      let wait = state.flushes[token]
      if case .made = wait {
        state.flushes[token] = .over(result)
      } else {
        state.flushes[token] = nil
      }
      return wait
    }
    switch wait {
    case .continuation(let continuation): continuation.resume(returning: result)
    case .holds(let holds): for hold in holds { hold.end() }
    default: break
    }
  }

  // MARK: Requests

  /// Sends a request and waits for its answer.
  func request(
    _ continuation: CheckedContinuation<Result<[UInt8], RelayError>, Never>
  ) -> UInt64? {
    let correlation = state.withLock { state -> UInt64? in
      if state.isEnded { return nil }
      state.last += 1
      state.requests[state.last] = continuation
      return state.last
    }
    if correlation == nil { continuation.resume(returning: .failure(Self.ended)) }
    return correlation
  }

  /// Whether a task waits for the answer to a request.
  func isWaiting(for correlation: UInt64) -> Bool {
    state.withLock { $0.requests[correlation] != nil }
  }

  func answer(_ correlation: UInt64, _ status: AnswerStatus, _ payload: [UInt8]) {
    let result: Result<[UInt8], RelayError> =
      switch status {
      case .answered: .success(payload)
      case .failed:
        .failure(RelayError(.failed, String(decoding: payload, as: UTF8.self)))
      case .nobodyAnswers:
        .failure(RelayError(.nobodyAnswers, "Nobody on the bus answers such requests."))
      case .refused: .failure(RelayError(.refused, String(decoding: payload, as: UTF8.self)))
      case .timedOut: .failure(RelayError(.timedOut, "No answer came in time."))
      case .disconnected:
        .failure(
          RelayError(
            .disconnected, "The connection was lost before the answer came; it may be on its way."))
      }
    end(correlation, result)
  }

  /// Ends one request, unless its answer has arrived.
  ///
  /// - Returns: Whether the request had not ended before.
  @discardableResult
  func end(_ correlation: UInt64, _ result: Result<[UInt8], RelayError>) -> Bool {
    let continuation = state.withLock { $0.requests.removeValue(forKey: correlation) }
    continuation?.resume(returning: result)
    return continuation != nil
  }

  // MARK: Ending

  func end() {
    let (flushes, requests) = state.withLock { state in
      state.isEnded = true
      defer { (state.flushes, state.requests) = ([:], [:]) }
      return (Array(state.flushes.values), Array(state.requests.values))
    }
    for flush in flushes {
      switch flush {
      case .continuation(let continuation): continuation.resume(returning: .failure(Self.ended))
      case .holds(let holds): for hold in holds { hold.end() }
      default: break
      }
    }
    for request in requests { request.resume(returning: .failure(Self.ended)) }
  }
}

extension WaitingCalls.State {
  fileprivate mutating func add(_ wait: WaitingCalls.Wait) -> UInt64 {
    last += 1
    flushes[last] = wait
    return last
  }
}
