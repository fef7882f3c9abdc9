import Campanile

extension Recorder {
  /// Waits for the next `count` values, and returns them.
  ///
  /// - Parameters:
  ///   - count: The number of values.
  ///   - limit: How long all of them may take, by default the recorder's timeout.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Returns: The values, oldest first. A count below one is a precondition failure.
  /// - Throws: An ``ExpectationFailure`` if they do not arrive in time; `CancellationError` if the
  ///   task is canceled first.
  @discardableResult
  public func next(
    _ count: Int, within limit: Duration? = nil, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Value] {
    require(count >= 1, "A test expects \(count) values; it takes one at least to wait for")
    let (awaited, isTooMany) = log.takenCount.addingReportingOverflow(count)
    let limit = TimeLimit(limit ?? timeout, by: clock)
    switch await log.recorded.wait(for: isTooMany ? .max : awaited, limit) {
    case .reached: return log.take(count).map(\.value)
    case .canceled: throw CancellationError()
    case .timedOut:
      let came = log.take(count).map(\.value)
      // The last value may have arrived since.
      if came.count == count { return came }
      throw ExpectationFailure(
        .timedOut,
        "Expected \(counted(count, "value")) within \(limit.duration), and "
          + (came.isEmpty ? "none came" : "only \(came.count) came: \(came)") + "\(endOfSequence).",
        Caller(file, line))
    }
  }

  /// How the sequence that is read has ended, if it has, for a failure.
  private var endOfSequence: String {
    switch log.end {
    case .none: ""
    case .success: ". The sequence has ended"
    case .failure(let error): ". The sequence threw \(error)"
    }
  }

  /// Waits for the next value, and returns it.
  ///
  /// - Parameters:
  ///   - limit: How long it may take, by default the recorder's timeout.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if it does not arrive in time; `CancellationError` if the
  ///   task is canceled first.
  @discardableResult
  public func next(
    within limit: Duration? = nil, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Value {
    try await next(1, within: limit, file: file, line: line)[0]
  }

  /// Checks that no value was recorded except those that expectations have taken.
  ///
  /// It does not wait. To be sure that no value is on its way, make all deliveries first, with
  /// `postAndWait`, or with ``ManualDelivery/runAll()``.
  ///
  /// - Throws: An ``ExpectationFailure`` if there are more values. They are then taken.
  public func expectNothingMore(file: StaticString = #fileID, line: UInt = #line) throws {
    let more = log.take(.max).map(\.value)
    if more.isEmpty { return }
    throw ExpectationFailure(
      .unexpected, "Expected nothing more, and \(counted(more.count, "value")) came: \(more).",
      Caller(file, line))
  }

  /// Waits for `duration` by the recorder's clock, and checks that no value is recorded.
  ///
  /// It fails as soon as a value is recorded. With a ``VirtualClock``, it takes no real time, but
  /// ends only when another task advances the clock.
  ///
  /// - Parameters:
  ///   - duration: How long to wait.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if a value is recorded that no expectation has taken,
  ///   before this call or during it. `CancellationError` if the task is canceled first.
  public func expectNothing(
    for duration: Duration, file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    let limit = TimeLimit(duration, by: clock)
    switch await log.recorded.wait(for: log.takenCount + 1, limit) {
    case .canceled: throw CancellationError()
    case .timedOut, .reached: try expectNothingMore(file: file, line: line)
    }
  }

  /// Waits until the sequence that the recorder reads has ended, without an error.
  ///
  /// A recorder that reads no sequence fails after the limit.
  ///
  /// - Parameters:
  ///   - limit: How long it may take, by default the recorder's timeout.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if the sequence throws, or does not end in time;
  ///   `CancellationError` if the task is canceled first.
  public func expectEnd(
    within limit: Duration? = nil, file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    let limit = TimeLimit(limit ?? timeout, by: clock)
    if await log.ended.wait(for: 1, limit) == .canceled { throw CancellationError() }
    switch log.end {
    case .success: return
    case .failure(let error):
      throw ExpectationFailure(
        .ended, "Expected the sequence to end, and it threw \(error).", Caller(file, line))
    case .none:
      throw ExpectationFailure(
        .ended, "Expected the sequence to end within \(limit.duration), and it goes on.",
        Caller(file, line))
    }
  }
}

extension Recorder where Value: Equatable {
  /// Waits for as many values as are passed, and checks that they are equal to these, in this
  /// order.
  ///
  /// ```swift
  /// try await titles.expect("Aria", "Var. 1", "Var. 2")
  /// try titles.expectNothingMore()
  /// ```
  ///
  /// If the values are arrays or sets, an array literal alone is a list of expected values, so
  /// `expect([])` expects no value instead of one empty array. Compare the result of
  /// ``next(within:file:line:)`` there.
  ///
  /// - Parameters:
  ///   - expected: The values.
  ///   - limit: How long all of them may take, by default the recorder's timeout.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if other values arrive, or not all in time;
  ///   `CancellationError` if the task is canceled first.
  public func expect(
    _ expected: Value..., within limit: Duration? = nil, file: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    try await expect(expected, within: limit, file: file, line: line)
  }

  /// Waits for as many values as `expected` has, and checks that they are equal to these, in this
  /// order.
  ///
  /// An array literal is a list of values, even if the values themselves are arrays or sets, so
  /// `expect([])` expects no value instead of one empty array. Compare the result of
  /// ``next(within:file:line:)`` there.
  ///
  /// - Parameters:
  ///   - expected: The values. If there are none, no value may have been recorded, and this does
  ///     not wait.
  ///   - limit: How long all of them may take, by default the recorder's timeout.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if other values arrive, or not all in time;
  ///   `CancellationError` if the task is canceled first.
  public func expect(
    _ expected: [Value], within limit: Duration? = nil, file: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    if expected.isEmpty { return try expectNothingMore(file: file, line: line) }
    let came = try await next(expected.count, within: limit, file: file, line: line)
    guard let place = expected.indices.first(where: { expected[$0] != came[$0] }) else { return }
    throw ExpectationFailure(
      .different,
      "Expected \(expected), and \(came) came: the first difference is at index "
        + "\(place), where \(came[place]) came instead of \(expected[place]).",
      Caller(file, line))
  }
}
