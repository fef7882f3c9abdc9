import Synchronization

extension ObservationRequest {
  /// An observer that is called where the value is posted.
  package static func inPlace(
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Value) throws -> Void
  ) -> Self {
    Self(on: .immediate, .unbounded, SourceLocation(file: file, line: line), observer)
  }

  /// An observer with an owner that is called where the value is posted.
  package static func inPlace<Owner: AnyObject & Sendable>(
    owner: Owner, file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Value) throws -> Void
  ) -> Self {
    Self(
      owner: owner, on: .immediate, .unbounded, SourceLocation(file: file, line: line), observer)
  }

  /// The same request for a source of other values, of which it hears those that `transform` lets
  /// through.
  ///
  /// `transform` runs where the observer does; for a sequence, and to fill a bounded buffer, where the
  /// value is posted. What it throws goes the way of what observers throw. An observer that wants to
  /// be called once is used up by a value that got through, and by no other.
  package func mapped<Source: Sendable>(
    once isOnce: Bool, _ transform: @escaping @Sendable (Source) throws -> Value?
  ) -> ObservationRequest<Source> {
    let turn = isOnce ? OnlyTurn() : nil
    let body: ObservationRequest<Source>.Body
    switch self.body {
    case .plain(let observer):
      body = .plain { source in
        guard let value = try transform(source) else { return }
        try turn?.take()
        try observer(value)
        if turn != nil { throw ObservationIsOver() }
      }
    case .told(let observer):
      body = .told { source, subject in
        guard let value = try transform(source) else { return }
        try turn?.take()
        try observer(value, subject)
        if turn != nil { throw ObservationIsOver() }
      }
    case .async(let execution, let observer):
      body = .async(execution) { source in
        guard let value = try transform(source) else { return }
        try turn?.take()
        try await observer(value)
        if turn != nil { throw ObservationIsOver() }
      }
    case .reader(let take, let onEnd):
      body = .reader(
        { source in
          do {
            guard let value = try transform(source) else { return }
            try turn?.take()
            take(value)
          } catch {
            // A sequence has nowhere to throw to: what cannot be read is left out of it.
          }
        }, onEnd: onEnd)
    }
    return ObservationRequest<Source>(
      owner: owner, delivery: delivery, buffering: buffering, location: location, body: body)
  }

  /// What the request says about where it was made, for failures that are reported early.
  package var place: (file: String, line: Int) { (location.fileName, Int(location.line)) }
}

/// The one call of an observer that wants no more; of many threads, one gets it.
private final class OnlyTurn: Sendable {
  private let isTaken = Atomic<Bool>(false)

  func take() throws {
    if isTaken.exchange(true, ordering: .acquiringAndReleasing) { throw ObservationIsOver() }
  }
}
