extension ObservationSource {
  /// Waits for the next element.
  ///
  /// ```swift
  /// let track = try await center.messages(of: TrackChanged.self).next(within: .seconds(5))
  /// ```
  ///
  /// It observes from the call on, before it suspends. To be sure not to miss an element that is
  /// sent by what you do next, call it in an `async let`, or read ``values(buffering:_:file:line:)``.
  ///
  /// - Parameters:
  ///   - limit: How long to wait.
  ///   - file: The caller's file, for descriptions and the error.
  ///   - line: The caller's line.
  /// - Returns: The first element that is sent after the call.
  /// - Throws: ``MissingElement`` if no element is sent in that time, or if the source ends first.
  ///   `CancellationError` if the task is canceled.
  public func next(
    within limit: Duration, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Element {
    let values = values(buffering: .oldest(1), .init(), file: file, line: line)
    let outcome = await withTaskGroup(of: Outcome<Element>.self) { group in
      group.addTask {
        var iterator = values.makeAsyncIterator()
        return await iterator.next().map { .element($0) } ?? .end
      }
      group.addTask {
        try? await Task.sleep(for: limit)
        return .late
      }
      defer { group.cancelAll() }
      return await group.next() ?? .end
    }
    if case .element(let element) = outcome { return element }
    try Task.checkCancellation()
    let place = CallSite(file: file, line: line)
    let name = "\(Element.self)", at = "\(place.fileName):\(place.line)"
    if case .late = outcome { throw MissingElement(late: name, limit, at) }
    throw MissingElement(ended: name, at)
  }
}

/// The first of the two events that `next(within:)` waits for.
private enum Outcome<Element: Sendable>: Sendable {
  case element(Element)
  case end
  case late
}

/// Why ``ObservationSource/next(within:file:line:)`` has no element.
public struct MissingElement: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable {
    private enum Kind { case late, ended }
    private let kind: Kind

    /// Nothing was sent in time.
    public static let late = Code(kind: .late)
    /// The source ended first, so that nothing will be sent.
    public static let ended = Code(kind: .ended)
  }

  /// The kind of failure.
  public let code: Code
  /// The awaited type, how long the wait was, and where.
  public let description: String

  fileprivate init(late name: String, _ limit: Duration, _ place: String) {
    code = .late
    description = "No value of \(name) was sent within \(limit) (\(place))"
  }

  fileprivate init(ended name: String, _ place: String) {
    code = .ended
    description = "The source ended before it sent a value of \(name) (\(place))"
  }

  /// Whether two failures are of one kind.
  public static func == (one: Self, other: Self) -> Bool { one.code == other.code }

  /// Hashes the kind.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
