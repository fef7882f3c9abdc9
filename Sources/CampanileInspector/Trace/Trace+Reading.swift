import Campanile

extension Trace {
  /// The observers that took most time, a row for each line that registers some.
  ///
  /// Ordered by ``ObserverTime/own``, so that an observer which only posts does not stand before the
  /// slow one that its post calls. Observers that run in tasks stand last: their time is mostly
  /// spent waiting. All calls count since the trace began, also those whose events have given way.
  ///
  /// - Parameter count: How many rows there are at most.
  public func slowest(_ count: Int = 20) -> Report<ObserverTime> {
    let times = storage.current.times.values
    let sorted = times.sorted { one, other in
      if one.isAsynchronous != other.isAsynchronous { return other.isAsynchronous }
      return (one.own, other.line) > (other.own, one.line)
    }
    return Report(Array(sorted.prefix(count)))
  }

  /// The posts of one type that are kept, oldest first, with their causes and who was called.
  public func posts(of type: any Any.Type) -> Report<TracedPost> {
    Report(tracedPosts.filter { $0.valueType == type })
  }

  /// Every post that is kept, oldest first.
  public var posts: Report<TracedPost> { Report(tracedPosts) }

  /// Who posts values of one type, the most frequent first.
  ///
  /// - Parameters:
  ///   - type: The type of the message or value.
  ///   - files: Names of files whose functions are left out: wrappers that post for others.
  public func posters(
    of type: any Any.Type, ignoring files: Set<String> = []
  ) -> Report<Poster> {
    posters(among: tracedPosts.filter { $0.valueType == type }, ignoring: files)
  }

  /// The posts of one name that are kept, oldest first: of a source that has names, as Foundation's
  /// centers do.
  public func posts(named name: String) -> Report<TracedPost> {
    Report(tracedPosts.filter { $0.name == name })
  }

  /// Who posts under one name, the most frequent first.
  ///
  /// - Parameters:
  ///   - name: The name of what is posted.
  ///   - files: Names of files whose functions are left out.
  public func posters(named name: String, ignoring files: Set<String> = []) -> Report<Poster> {
    posters(among: tracedPosts.filter { $0.name == name }, ignoring: files)
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

  private var tracedPosts: [TracedPost] { TracedPosts(storage).all }
}

/// A place that posts.
public struct Poster: Sendable, CustomStringConvertible {
  /// The function that posts; `nil` where call stacks cannot be read.
  public let caller: Caller?
  /// How many of the posts that are kept it made.
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
    /// How long it waited, from the post to the call.
    public let waited: Duration
    /// How long it took; `nil` if it has not returned, or its return is not kept.
    public internal(set) var took: Duration?

    /// The place and the times.
    public var description: String {
      "\(file):\(line) waited \(waited.shortened), took \(took?.shortened ?? "?")"
    }
  }

  /// The number of the post, which its events have.
  public let number: UInt64
  /// What the source is called.
  public let source: String
  /// The type of the message or value.
  public let valueType: any Any.Type
  /// The name of what was posted, where the source has names, as Foundation's centers do.
  public let name: String?
  /// What was posted, if the trace was asked to describe values.
  public let value: String?
  /// The instance that it is about.
  public let subject: ObjectIdentifier?
  /// When it was posted, since the first event that is kept.
  public let time: Duration
  /// The system's number for the thread that posted.
  public let thread: UInt64
  /// The functions that posted, the innermost first.
  public let callers: [Caller]
  /// The post whose observer made this one, as far as it is kept, then that one's cause, and so on.
  public internal(set) var causes: [UInt64] = []
  /// The calls that it made, in the order in which they began.
  public internal(set) var calls: [Call] = []

  /// The type, where it was posted, what caused it, and the calls, a line each.
  public var description: String {
    let place = callers.first.map { " from \($0)" } ?? ""
    let cause =
      causes.isEmpty ? "" : ", caused by \(causes.map { "#\($0)" }.joined(separator: ", "))"
    let head = "#\(number) \(value ?? name ?? "\(valueType)")\(place)\(cause)"
    return ([head] + calls.map { "  \($0)" }).joined(separator: "\n")
  }
}
