import Campanile

/// The calls that wait for the carrier: until sent messages are taken, or for answers.
final class WaitingCalls: Sendable {
  /// The answer to a request, or no bytes.
  typealias Outcome = Result<[UInt8], RelayError>

  private enum Wait: Sendable {
    case call(CheckedContinuation<Outcome, Never>)
    /// Deliveries of posts that a caller waits for.
    case holds([HeldDelivery])

    func end(_ outcome: Outcome) {
      switch self {
      case .call(let continuation): continuation.resume(returning: outcome)
      case .holds(let holds): for hold in holds { hold.end() }
      }
    }
  }

  private struct State {
    var waits: [UInt64: Wait] = [:]
    var last: UInt64 = 0
    var isEnded = false
  }

  private let state = Locked(State())
  /// The answers that are being made, which a relay waits for when it is drained.
  let answers = Pending()
  /// The deliveries that the link awaits, likewise.
  let deliveries = Pending()
  private static let ended = Outcome.failure(RelayError(.ended, "The relay has ended."))

  private func add(_ wait: Wait) -> UInt64? {
    state.withLock { state in
      if state.isEnded { return nil }
      state.last += 1
      state.waits[state.last] = wait
      return state.last
    }
  }

  /// A token at which deliveries end.
  func makeToken(for holds: [HeldDelivery]) -> UInt64? { add(.holds(holds)) }

  /// Waits until a call ends, or until the task is canceled.
  ///
  /// - Parameters:
  ///   - begin: Sends the call, whose number it is given.
  ///   - giveUp: Ends the call, because the task is canceled.
  func wait(
    _ begin: (UInt64) -> Void, giveUp: @escaping @Sendable (UInt64) -> Void
  ) async -> Outcome {
    let number = Locked<UInt64?>(nil)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard let call = add(.call(continuation)) else {
          return continuation.resume(returning: Self.ended)
        }
        begin(call)
        // Afterwards: a link forgets only what it knows.
        number.withLock { $0 = call }
        if Task.isCancelled { giveUp(call) }
      }
    } onCancel: {
      if let call = number.withLock({ $0 }) { giveUp(call) }
    }
  }

  /// Whether a task waits for the answer to a request.
  func isWaiting(for correlation: UInt64) -> Bool {
    state.withLock { $0.waits[correlation] != nil }
  }

  func answer(_ correlation: UInt64, _ status: AnswerStatus, _ payload: [UInt8]) {
    let outcome: Outcome =
      switch status {
      case .answered: .success(payload)
      case .failed:
        .failure(RelayError(.failed, String(decoding: payload, as: UTF8.self)))
      case .nobodyAnswers:
        .failure(RelayError(.nobodyAnswers, "Nobody on the bus answers such requests."))
      case .refused: .failure(RelayError(.refused, String(decoding: payload, as: UTF8.self)))
      case .disconnected:
        .failure(
          RelayError(
            .disconnected, "The connection was lost before the answer came; it may be on its way."))
      }
    end(correlation, outcome)
  }

  /// Ends one call, unless it has ended.
  ///
  /// - Returns: Whether the call had not ended before.
  @discardableResult
  func end(_ number: UInt64, _ outcome: Outcome) -> Bool {
    let wait = state.withLock { $0.waits.removeValue(forKey: number) }
    wait?.end(outcome)
    return wait != nil
  }

  func end() {
    let waits = state.withLock { state in
      state.isEnded = true
      defer { state.waits = [:] }
      return Array(state.waits.values)
    }
    for wait in waits { wait.end(Self.ended) }
    answers.endWait()
    deliveries.endWait()
  }
}
