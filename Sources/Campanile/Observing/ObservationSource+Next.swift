extension ObservationSource {
  /// Waits for the next element.
  ///
  /// ```swift
  /// let track = try await center.messages(of: TrackChanged.self).next(within: .seconds(5))
  /// ```
  ///
  /// It observes from the call on, before it suspends. If your next code causes the element, make a
  /// sequence with ``values(buffering:options:file:line:)`` before it.
  ///
  /// - Returns: The first element that is sent after the call.
  /// - Throws: ``MissingElement`` if no element is sent within `limit`, or if the source ends first.
  ///   `CancellationError` if the task is canceled.
  public func next(
    within limit: Duration, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Element {
    let values = values(buffering: .oldest(1), options: .init(), file: file, line: line)
    let end = ContinuousClock.now + limit
    let timer = Task { [registration = values.registration] in
      try await Task.sleep(until: end, clock: .continuous)
      registration.cancel()
    }
    defer { timer.cancel() }
    var iterator = values.makeAsyncIterator()
    if let element = await iterator.next() { return element }
    try Task.checkCancellation()
    throw MissingElement(
      "\(Element.self)", ContinuousClock.now < end ? nil : limit, CallSite(file: file, line: line))
  }
}

/// Why ``ObservationSource/next(within:file:line:)`` has no element.
public struct MissingElement: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable {
    private enum Kind { case late, ended }
    private let kind: Kind

    /// No element was sent in time.
    public static let late = Code(kind: .late)
    /// The source ended first, so no element will be sent.
    public static let ended = Code(kind: .ended)
  }

  /// The kind of failure.
  public let code: Code
  /// A sentence with the awaited type, the time limit, the file and the line.
  public let description: String

  /// - Parameter limit: How long the wait was, or `nil` if the source ended first.
  fileprivate init(_ name: String, _ limit: Duration?, _ caller: CallSite) {
    let place = "\(caller.fileName):\(caller.line)"
    if let limit {
      code = .late
      description = "No value of \(name) was sent within \(limit) (\(place))"
    } else {
      code = .ended
      description = "The source ended before it sent a value of \(name) (\(place))"
    }
  }
}
