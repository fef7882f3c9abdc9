import Synchronization

extension ObserverBody {
  /// Makes a value of the source's and passes it on, or leaves it out.
  ///
  /// To return it would take a copy, and generic code would look up the type of what may be `nil`.
  package typealias Transform<Source> =
    @Sendable (_ source: Source, _ post: Post, _ pass: (Value) throws -> Void) throws -> Void

  /// Returns the observer for a source of other values; it receives what `transform` passes on.
  ///
  /// `transform` runs where the observer does; for a sequence, where the value is posted. Its errors
  /// are those of the observer. An observer with `.once` is used up only by a value that is passed on.
  ///
  /// - Parameters:
  ///   - receivesSubject: Whether `transform` reads the subject of the post, which is then kept.
  ///   - isWanted: Selects the values that take room in the observer's own buffer; `nil` for all.
  package func mapped<Source: Sendable>(
    once isOnce: Bool, receivesSubject: Bool = false,
    where isWanted: ObserverBody<Source>.Selection?,
    _ transform: @escaping Transform<Source>
  ) -> ObserverBody<Source> {
    let turn = isOnce ? OnlyTurn() : nil
    var traits = traits
    if receivesSubject { traits.receivesSubject = true }
    if let plain, !receivesSubject {
      let observer: @Sendable (Source) throws -> Void = { source in
        try transform(source, Post()) { value in try turn.use { try plain(value) } }
      }
      if isPlain && isWanted == nil { return ObserverBody<Source>(observer) }
      return ObserverBody<Source>(plain: observer, traits, where: isWanted)
    }
    let mapped: ObserverBody<Source>.Kind =
      switch kind {
      case .synchronous(let observer):
        .synchronous { source, post, id, list in
          try transform(source, post) { value in
            try turn.use { try observer(value, post, id, list) }
          }
        }
      case .asynchronous(let observer):
        .asynchronous { source, post in
          var passed: Value?
          try transform(source, post) { passed = $0 }
          guard let value = passed else { return }
          try await turn.use { try await observer(value, post) }
        }
      }
    return ObserverBody<Source>(kind: mapped, traits, where: isWanted)
  }

  /// Returns the selection of the values of a source that `transform` passes on to this observer, if
  /// it wants them; `nil` if that is all of them.
  ///
  /// - Parameter isSelective: Whether `transform` leaves some out.
  package func selection<Source: Sendable>(
    isSelective: Bool = false, by transform: @escaping Transform<Source>
  ) -> ObserverBody<Source>.Selection? {
    let isWanted = isWanted
    if isWanted == nil && !isSelective { return nil }
    return { source, post in
      var isPassedOn = false
      try? transform(source, post) { isPassedOn = isWanted?($0, post) ?? true }
      return isPassedOn
    }
  }
}

/// The one call of an observer that wants no more; of many threads, one gets it.
///
/// That one ends the registration when it has returned. The others leave that to it: to end the
/// registration earlier would cancel the task that makes the call.
private final class OnlyTurn: Sendable {
  private let isTaken = Atomic<Bool>(false)

  // No order is needed: one thread reads false, and the others do nothing.
  func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}

extension OnlyTurn? {
  /// Makes a call; if it was the only one, ends the registration by what it throws.
  fileprivate func use(_ call: () throws -> Void) throws {
    guard let turn = self else { return try call() }
    guard turn.take() else { return }
    do { try call() } catch { throw Self.end(after: error) }
    throw ObservationIsOver()
  }

  fileprivate func use(_ call: () async throws -> Void) async throws {
    guard let turn = self else { return try await call() }
    guard turn.take() else { return }
    AsyncCall.refuseOthers()
    do {
      try await call()
    } catch is CancellationError where Task.isCancelled {
      // The task is the observer's own: canceled with its registration, it has not failed.
    } catch {
      throw Self.end(after: error)
    }
    throw ObservationIsOver()
  }

  private static func end(after error: any Error) -> ObservationIsOver {
    error as? ObservationIsOver ?? ObservationIsOver(after: error)
  }
}
