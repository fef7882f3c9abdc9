import Synchronization

extension ObservationRequest {
  /// A request for an observer that is called where the value is posted.
  package static func inPlace(
    owner: (any AnyObject & Sendable)? = nil, file: StaticString = #fileID, line: UInt = #line
  ) -> Self {
    Self(owner: owner, .unbounded, SourceLocation(file: file, line: line))
  }

  /// What the request says about where it was made, for failures that are reported early.
  package var place: (file: String, line: Int) { (location.fileName, location.line) }
}

extension ObserverBody {
  /// The same observer for a source of other values, of which it hears those that `transform` lets
  /// through.
  ///
  /// `transform` runs where the observer does; for a sequence, where the value is posted. What it
  /// throws goes the way of what observers throw. An observer that wants to be called once is used
  /// up by a value that got through, and by no other. Where the observer has a buffer of its own,
  /// what `transform` does not let through takes room there: see ``taking(_:)``.
  package func mapped<Source: Sendable>(
    once isOnce: Bool, _ transform: @escaping @Sendable (Source) throws -> Value?
  ) -> ObserverBody<Source> {
    let turn = isOnce ? OnlyTurn() : nil
    let mapped: ObserverBody<Source>.Kind
    switch kind {
    case .plain(let observer):
      mapped = .plain { source in
        guard let value = try transform(source) else { return }
        try turn.use { try observer(value) }
      }
    case .told(let observer):
      mapped = .told { source, subject in
        guard let value = try transform(source) else { return }
        try turn.use { try observer(value, subject) }
      }
    case .async(let execution, let observer):
      mapped = .async(execution) { source in
        guard let value = try transform(source) else { return }
        try await turn.use { try await observer(value) }
      }
    case .reader(let take, let onEnd):
      mapped = .reader(
        { source in
          // A sequence has nowhere to throw to: what cannot be read is left out of it.
          guard let value = try? transform(source) else { return }
          try turn.use { try take(value) }
        }, onEnd: onEnd)
    }
    return ObserverBody<Source>(mapped)
  }
}

/// The one call of an observer that wants no more; of many threads, one gets it.
///
/// That one ends the registration when it has returned. The others leave that to it: to end the
/// registration earlier would cancel the task that makes the call.
private final class OnlyTurn: Sendable {
  private let isTaken = Atomic<Bool>(false)

  func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }
}

extension OnlyTurn? {
  /// Makes a call; if it was the only one, ends the registration by what it throws.
  @inline(__always)
  fileprivate func use(_ call: () throws -> Void) throws {
    guard let turn = self else { return try call() }
    guard turn.take() else { return }
    do {
      try call()
    } catch let over as ObservationIsOver {
      throw over
    } catch {
      throw ObservationIsOver(after: error)
    }
    throw ObservationIsOver()
  }

  @inline(__always)
  fileprivate func use(_ call: () async throws -> Void) async throws {
    guard let turn = self else { return try await call() }
    guard turn.take() else { return }
    do {
      try await call()
    } catch let over as ObservationIsOver {
      throw over
    } catch is CancellationError where Task.isCancelled {
      // The task is the observer's own: canceled with its registration, it has not failed.
      throw ObservationIsOver()
    } catch {
      throw ObservationIsOver(after: error)
    }
    throw ObservationIsOver()
  }
}
