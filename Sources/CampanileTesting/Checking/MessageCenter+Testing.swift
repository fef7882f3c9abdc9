public import Campanile

/// Centers for tests.
extension MessageCenter {
  /// Runs a test with its own default center, so that tests can run in parallel.
  ///
  /// ```swift
  /// try await MessageCenter.withIsolatedDefault { center in
  ///   let library = Library()  // posts through MessageCenter.default
  ///   let titles = Recorder(observing: TrackChanged.self, in: center)
  ///   library.play("Aria")
  ///   try await titles.expect(TrackChanged(title: "Aria"))
  /// }
  /// ```
  ///
  /// `MessageCenter.default` is that center for the task that runs `operation`, and for the tasks
  /// created in it.
  ///
  /// Detached tasks, and observers that run elsewhere than on the posting thread, do not see it, so
  /// pass the center to them. Foundation's `NotificationCenter.default`, and that of
  /// `CampanileNotificationCenter`, are not replaced.
  ///
  /// - Parameters:
  ///   - file: The caller's file, for the center's label and the failure.
  ///   - line: The caller's line.
  ///   - operation: The test. It receives the center.
  /// - Returns: The result of `operation`.
  /// - Throws: The error of `operation`; the errors of observers are then written to standard
  ///   error. Otherwise an ``ExpectationFailure`` if an observer threw before `operation` returned.
  public static func withIsolatedDefault<Result>(
    file: StaticString = #fileID, line: UInt = #line,
    operation: (MessageCenter) throws -> Result
  ) throws -> Result {
    let center = MessageCenter(label: "\(file):\(line)")
    let failures = Recorder(observing: center.failures)
    let result = Swift.Result { try withDefault(center) { try operation(center) } }
    return try failures.expectNone(beside: result, Caller(file, line))
  }

  /// Runs an asynchronous test with its own default center.
  ///
  /// The center behaves as in the synchronous form.
  public static func withIsolatedDefault<Result>(
    file: StaticString = #fileID, line: UInt = #line,
    operation: (MessageCenter) async throws -> Result
  ) async throws -> Result {
    let center = MessageCenter(label: "\(file):\(line)")
    let failures = Recorder(observing: center.failures)
    let result: Swift.Result<Result, any Error>
    do {
      result = .success(try await withDefault(center) { try await operation(center) })
    } catch {
      result = .failure(error)
    }
    return try failures.expectNone(beside: result, Caller(file, line))
  }

  /// Checks that the center has no observers, except recorders and states that keep last messages.
  ///
  /// Observers of such a state, which `latest(of:)` returns, observe the state and not the center, so
  /// they do not count either.
  ///
  /// A recorder that observes this center, or reads a sequence of its messages, doesn't count
  /// because it belongs to the test, but an observer that calls a recorder does. A recorder that
  /// reads a sequence derived from such a sequence, for example with `map`, counts until its
  /// reading task has ended. The failure lists the observers, each with the line that registered
  /// it.
  public func expectNoObservers(file: StaticString = #fileID, line: UInt = #line) throws {
    let left = registrations.filter {
      !$0.isDerivedState && !RecorderRegistrations.contains($0.registration)
    }
    if left.isEmpty { return }
    throw ExpectationFailure(
      .alive,
      "Expected no observers, and there are \(left.count): "
        + left.map(\.description).joined(separator: "; ") + ".", Caller(file, line))
  }
}

extension Recorder where Value == ObserverFailure {
  /// Returns the result of a test none of whose observers threw.
  fileprivate func expectNone<Success>(
    beside result: Result<Success, any Error>, _ caller: Caller
  ) throws -> Success {
    let failures = values
    // The errors are often the reason of the test's own failure.
    if case .failure = result {
      for failure in failures { Platform.writeToStandardError(failure.description) }
    }
    let success = try result.get()
    guard let first = failures.first else { return success }
    let more = failures.count == 1 ? "" : ", and \(failures.count - 1) more failed"
    throw ExpectationFailure(.observerThrew, "\(first)\(more).", caller)
  }
}
