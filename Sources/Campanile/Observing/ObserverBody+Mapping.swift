import Synchronization

extension ObservationRequest {
  /// A request for an observer that is called where the value is posted.
  package static func inPlace(
    owner: (any AnyObject & Sendable)? = nil, file: StaticString = #fileID, line: UInt = #line
  ) -> Self {
    Self(owner: owner, .unbounded, CallSite(file: file, line: line))
  }

  /// Whether the observer has its own buffer, which leaves values out when it is full.
  package var isBounded: Bool { buffering != .unbounded }

  /// The place where the request was made, for failures that are reported early.
  package var place: (file: String, line: Int) { (location.fileName, location.line) }
}

extension ObserverBody {
  /// Returns the observer for a source of other values, with code that runs around each call.
  ///
  /// Every kind of observer is wrapped here. Only `keeping` wraps a plain observer by itself.
  ///
  /// - Parameters:
  ///   - isTold: Whether the code around a call reads the subject.
  ///   - call: Runs around a call, with the value of the source, its subject, and the observer.
  ///   - callInTask: Runs around a call in a task.
  ///   - read: Runs around the arrival of a value at a reader; it also receives the closure that
  ///     ends the reader.
  ///   - end: Runs around the end of a reader.
  func wrapped<Source: Sendable>(
    isTold: Bool = false,
    _ call: @escaping @Sendable (Source, AnyObject?, Call) throws -> Void,
    inTask callInTask:
      @escaping @Sendable (Source, AnyObject?, @Sendable (Value, AnyObject?) async throws -> Void)
      async throws -> Void,
    read: @escaping @Sendable (Source, AnyObject?, Call, () -> Void) throws -> Void,
    end: @escaping @Sendable (() -> Void) -> Void
  ) -> ObserverBody<Source> {
    switch kind {
    case .plain(let observer):
      if !isTold {
        return ObserverBody<Source> { source in
          try call(source, nil) { value, _ in try observer(value) }
        }
      }
      return ObserverBody<Source>(
        .told { source, subject in
          try call(source, subject) { value, _ in try observer(value) }
        })
    case .told(let observer):
      return ObserverBody<Source>(
        .told { source, subject in try call(source, subject, observer) })
    case .carrier(let observer):
      return ObserverBody<Source>(
        .told { source, subject in
          try call(source, subject) { try observer($0, Post($1)) }
        })
    case .async(let wasTold, let observer):
      return ObserverBody<Source>(
        .async(isTold: isTold || wasTold) { source, subject in
          try await callInTask(source, subject, observer)
        })
    case .starter: misuse("An observer that starts tasks was given the values of another source")
    case .tap(let take, let onEnd):
      return ObserverBody<Source>(
        .tap(
          { source, post in
            let post = copy post
            // A tap throws nothing, and a value that cannot be made is left out.
            try? call(source, post.subject) { value, _ in take(value, post) }
          }, onEnd: { end(onEnd) }))
    case .reader(let take, let onEnd, let buffer):
      return ObserverBody<Source>(
        .reader(
          { source, subject in try read(source, subject, take, onEnd) }, onEnd: { end(onEnd) },
          buffer: buffer))
    }
  }

  /// The observer, for what happens around a call of it.
  typealias Call = (Value, AnyObject?) throws -> Void

  /// Makes a value of the source's and passes it on, or leaves it out.
  ///
  /// To return it would take a copy, and generic code would look up the type of what may be `nil`.
  package typealias Transform<Source> =
    @Sendable (_ source: Source, _ pass: (Value) throws -> Void) throws -> Void
  /// A transform that also receives the subject.
  package typealias ToldTransform<Source> =
    @Sendable (_ source: Source, _ subject: AnyObject?, _ pass: (Value) throws -> Void) throws ->
    Void

  /// Returns the observer for a source of other values; it receives what `transform` passes on.
  ///
  /// `transform` runs where the observer does; for a sequence, where the value is posted. It also runs
  /// there if this observer selects what its own buffer takes. Its
  /// errors are treated like errors of the observer. An observer with `.once` is used up only by a
  /// value that is passed on.
  ///
  /// - Parameter isWanted: Selects the values that are not left out; `nil` for all. Only they take
  ///   room in the observer's own buffer.
  package func mapped<Source: Sendable>(
    once isOnce: Bool, where isWanted: (@Sendable (Source) -> Bool)? = nil,
    _ transform: @escaping Transform<Source>
  ) -> ObserverBody<Source> {
    told(once: isOnce, where: isWanted) { (source: Source, _, pass) in try transform(source, pass) }
  }

  /// Returns the observer for a source of other values, whose subjects `transform` receives.
  ///
  /// - Parameters:
  ///   - isTold: Whether `transform` reads the subject, which is then kept for it.
  ///   - isWanted: Selects the values that are not left out; `nil` for all.
  package func told<Source: Sendable>(
    once isOnce: Bool, isTold: Bool = false, where isWanted: (@Sendable (Source) -> Bool)? = nil,
    _ transform: @escaping ToldTransform<Source>
  ) -> ObserverBody<Source> {
    let turn = isOnce ? OnlyTurn() : nil
    let told = wrapped(
      isTold: isTold,
      { source, subject, observer in
        try transform(source, subject) { value in try turn.use { try observer(value, subject) } }
      },
      inTask: { source, subject, observer in
        var passed: Value?
        try transform(source, subject) { passed = $0 }
        guard let value = passed else { return }
        try await turn.use { try await observer(value, subject) }
      },
      read: { source, subject, take, _ in
        do {
          try transform(source, subject) { value in try turn.use { try take(value, subject) } }
        } catch let over as ObservationIsOver {
          throw over
        } catch {
          // A sequence has nowhere to throw to: what cannot be read is left out of it.
        }
      },
      end: { $0() })
    guard let inner = self.isWanted else {
      return isWanted.map { isWanted in told.taking { source, _ in isWanted(source) } } ?? told
    }
    return told.taking { source, subject in
      guard isWanted?(source) ?? true else { return false }
      var isWantedByInner = false
      try? transform(source, subject) { isWantedByInner = inner($0, subject) }
      return isWantedByInner
    }
  }

  /// Returns the observer with an object that it keeps for as long as it is registered.
  package func keeping(_ kept: any AnyObject & Sendable) -> Self {
    guard let plain, isWanted == nil else {
      return told(once: false) { (value: Value, _, pass) in
        defer { withExtendedLifetime(kept) {} }
        try pass(value)
      }
    }
    // In few words of the stack, which an observer that posts again takes at each level.
    return Self { value in
      defer { withExtendedLifetime(kept) {} }
      try plain(value)
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
    AsyncCall.refuseOthers()
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
