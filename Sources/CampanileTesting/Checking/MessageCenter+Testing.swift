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
  /// Detached tasks do not see it, and neither do observers that run elsewhere than on the posting
  /// thread: pass the center to them. Foundation's `NotificationCenter.default`, and that of
  /// `CampanileNotificationCenter`, are not replaced.
  ///
  /// - Parameters:
  ///   - file: The caller's file, for the center's label and the failure.
  ///   - line: The caller's line.
  ///   - operation: The test. It receives the center.
  /// - Returns: What `operation` returns.
  /// - Throws: What `operation` throws; otherwise an ``ExpectationFailure`` if an observer of the
  ///   center threw.
  public static func withIsolatedDefault<Result>(
    file: StaticString = #fileID, line: UInt = #line,
    operation: (MessageCenter) throws -> Result
  ) throws -> Result {
    let center = MessageCenter(label: "\(file):\(line)")
    let failures = Recorder(observing: center.failures)
    let result = try withDefault(center) { try operation(center) }
    try failures.expectNoFailures(Caller(file, line))
    return result
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
    let result = try await withDefault(center) { try await operation(center) }
    try failures.expectNoFailures(Caller(file, line))
    return result
  }

  /// Checks that the center has no observers, except recorders and the center's memory of last
  /// messages.
  ///
  /// A recorder that observes this center, or reads a sequence of its messages, doesn't count: it
  /// belongs to the test. An observer that calls a recorder does count. The failure lists the
  /// observers, each with the line that registered it.
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
  fileprivate func expectNoFailures(_ caller: Caller) throws {
    let failures = values
    guard let first = failures.first else { return }
    let more = failures.count == 1 ? "" : ", and \(failures.count - 1) more failed"
    throw ExpectationFailure(.observerThrew, "\(first)\(more).", caller)
  }
}
