import Campanile

extension Trace {
  /// The observers that took the most time, one row for each line and delivery.
  ///
  /// Observers with a call in progress come first, the one that has taken longest at the top: an
  /// observer that hangs. The others are sorted by ``ObserverTime/own``. So an observer that only
  /// posts comes after the slow observer that its post calls. Observers that run in tasks come last,
  /// because their time is mostly spent waiting. All calls since the beginning of the trace count, including those
  /// whose events have been overwritten. A call has no time if its source is released before it
  /// returns, because the events end with the source.
  ///
  /// - Parameter count: The greatest number of rows. A negative one is a precondition failure.
  public func slowest(_ count: Int = 20) -> Report<ObserverTime> {
    require(count >= 0, "The \(count) slowest observers of a trace were asked for")
    let state = storage.current
    var times = state.places
    for call in callsInProgress(in: state) { times[call.place].callsInProgress.append(call) }
    let sorted = times.filter(\.isCounted).sorted { one, other in
      if one.rank != other.rank { return one.rank < other.rank }
      if let call = one.callsInProgress.first, let otherCall = other.callsInProgress.first {
        return call.age > otherCall.age
      }
      return (one.own, other.line) > (other.own, one.line)
    }
    return Report(Array(sorted.prefix(count)))
  }

  /// The kept posts of one type, oldest first, with their causes and calls.
  public func posts(of type: any Any.Type) -> Report<TracedPost> {
    Report(tracedPosts { $0.valueType == type })
  }

  /// All kept posts, oldest first.
  public var posts: Report<TracedPost> { Report(tracedPosts { _ in true }) }

  /// The callers that post values of one type, the most frequent first.
  ///
  /// - Parameters:
  ///   - type: The type of the message or value.
  ///   - files: Names of files to ignore, such as those of wrappers that post for other code.
  public func posters(
    of type: any Any.Type, ignoring files: Set<String> = []
  ) -> Report<Poster> {
    posters(among: tracedPosts { $0.valueType == type }, ignoring: files)
  }

  /// The kept posts of one name, oldest first, if the source has names, as Foundation's centers do.
  public func posts(named name: String) -> Report<TracedPost> {
    Report(tracedPosts { $0.name == name })
  }

  /// The callers that post under one name, the most frequent first.
  ///
  /// - Parameters:
  ///   - name: The name of the posts.
  ///   - files: Names of files to ignore.
  public func posters(named name: String, ignoring files: Set<String> = []) -> Report<Poster> {
    posters(among: tracedPosts { $0.name == name }, ignoring: files)
  }

  private func posters(among posts: [TracedPost], ignoring files: Set<String>) -> Report<Poster> {
    var counts: [Caller?: Int] = [:]
    for post in posts {
      let caller = post.callers.first { caller in caller.file.map { !files.contains($0) } ?? true }
      counts[caller, default: 0] += 1
    }
    let posters = counts.map { Poster(caller: $0, count: $1) }
    return Report(posters.sorted { $0.count > $1.count })
  }

  private func tracedPosts(where isWanted: (TraceRecord) -> Bool) -> [TracedPost] {
    TracedPosts(storage, where: isWanted).all
  }
}

/// A place that posts.
public struct Poster: Sendable, CustomStringConvertible {
  /// The function that posts.
  ///
  /// It is `nil` for a call stack that is not known; see ``TracedPost/callers``.
  public let caller: Caller?
  /// The number of kept posts that it made.
  public let count: Int

  /// The count and the place.
  public var description: String { "\(count) \(caller?.description ?? "unknown")" }
}

/// A post that a trace has kept.
public struct TracedPost: Sendable, CustomStringConvertible {
  /// A call of an observer that the post made.
  public struct Call: Sendable, CustomStringConvertible {
    /// The file in which the observer was registered.
    public let file: String
    /// The line at which the observer was registered.
    public let line: Int
    /// The time that the message waited, from the post to the call.
    public let waited: Duration
    /// The time that the call took; `nil` if it has not returned, or its return is not kept.
    ///
    /// The return of a call is not recorded if the source of the message is released before.
    public internal(set) var took: Duration?

    /// The place and the times.
    public var description: String {
      "\(file):\(line) waited \(waited.shortened), took \(took?.shortened ?? "?")"
    }
  }

  /// The number of the post.
  ///
  /// Its events have the same number.
  public let number: UInt64
  /// The name of the source.
  public let source: String
  /// The type of the message or value.
  public let valueType: any Any.Type
  /// The name of the post, if the source has names, as Foundation's centers do.
  public let name: String?
  /// The description of the value, if the trace describes values.
  public let value: String?
  /// The subject of the post.
  public let subject: ObjectIdentifier?
  /// The time of the post.
  public let time: ContinuousClock.Instant
  /// The system's number of the posting thread.
  public let thread: UInt64
  /// The functions that posted, the innermost first.
  ///
  /// Of a deep call stack, the innermost are kept, in a release build about twenty. There are none if
  /// the call stack was not captured; see ``Trace/init(of:last:values:callers:)``.
  public var callers: [Caller] { knownCallers ?? [] }
  /// The callers, or `nil` if they are still being looked up.
  let knownCallers: [Caller]?
  /// The post that caused each kept post.
  ///
  /// All posts share this table. A list of causes for each one would take quadratic memory.
  let parents: [UInt64: UInt64]
  /// The calls of observers, in the order in which they began.
  public internal(set) var calls: [Call] = []

  /// The post whose observer made this one, if it is known.
  var parent: UInt64? { parents[number] }

  /// The post whose observer made this one, followed by the cause of that post, and so on, as far
  /// as they are kept.
  ///
  /// - Complexity: O(*n*) in the number of causes.
  public var causes: [UInt64] { Array(sequence(first: number) { parents[$0] }.dropFirst()) }

  /// The type, the caller and the last eight causes, followed by the calls, one a line.
  public var description: String {
    let place = callers.first.map { " from \($0)" } ?? ""
    // Posts that cause each other without an end would make a text of quadratic length.
    let shown = 8
    let chain = sequence(first: number) { parents[$0] }.dropFirst()
    var near = chain.prefix(shown + 1).map { "#\($0)" }
    if near.count > shown { near[shown] = "and others" }
    let cause = near.isEmpty ? "" : ", caused by \(near.joined(separator: ", "))"
    let head = "#\(number) \(value ?? name ?? "\(valueType)")\(place)\(cause)"
    return ([head] + calls.map { "  \($0)" }).joined(separator: "\n")
  }
}
