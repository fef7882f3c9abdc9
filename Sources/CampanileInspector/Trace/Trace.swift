public import Campanile

/// Records what happens at sources: which code posts, which observers are called, where, and for
/// how long.
///
/// ```swift
/// let trace = Trace(of: center)
/// …
/// print(trace.slowest())
/// print(trace.posters(of: LevelChanged.self))
/// try trace.write(to: "trace.json")
/// ```
///
/// A trace can be created at any time and on any thread, with one exception. The first trace with
/// call stacks lists the libraries that the program has loaded. If another thread unloads a library
/// meanwhile, the program crashes. A program that unloads libraries creates its first trace before.
///
/// A trace can follow the default center, too, and it includes observers that were registered
/// before. It keeps the newest events, and the times of all events. Stopping or releasing the trace
/// ends it. What it has recorded can still be read after `stop()`. It does not keep its sources.
///
/// While a trace is active, each event costs about half a microsecond, and each call stack about three:
/// 100,000 events a second take a twentieth of a core, and at most a tenth with call stacks.
/// Without an active trace, the sources have no cost.
public final class Trace: Sendable {
  /// A source that a trace follows.
  ///
  /// The source is not kept.
  struct Followed {
    let name: String
    /// The registrations, with one description for those that are alike.
    let groups: @Sendable () -> [RegistrationDescription]
    fileprivate let token: ObservationToken
    /// Requests descriptions of the posted values.
    fileprivate let wish: ValueWish?
  }

  let storage: TraceStorage
  private struct Following {
    var sources: [Followed] = []
    /// How often the trace was stopped.
    var run = 0
    /// The number of sources at which those that have gone are forgotten.
    var limit = 16

    /// Adds a source, unless the trace was stopped since `run` was read.
    mutating func add(_ one: Followed, in run: Int) -> Bool {
      guard self.run == run else { return false }
      sources.append(one)
      return true
    }

    /// Removes the sources that have gone, and returns them: they are released outside the lock.
    ///
    /// It looks for them only each time the number has doubled.
    mutating func takeGone() -> [Followed] {
      if sources.count < limit { return [] }
      let all = sources
      sources = all.filter(\.token.isActive)
      limit = max(16, 2 * sources.count)
      return all
    }
  }

  private let following = Locked(Following())
  /// The watches that report calls which take longer than each limit.
  let watches = Locked<[Duration: StuckWatch]>([:])

  /// Starts to follow sources.
  ///
  /// - Parameters:
  ///   - sources: Message centers, broadcasters, current values, notification sources of
  ///     Foundation's centers, changes of key paths, and the requests that a relay answers.
  ///   - capacity: The number of events that are kept. Newer events overwrite the oldest. Each
  ///     takes about 200 bytes, and a post its description in addition.
  ///   - values: Whether posted values are described, by `String(describing:)` on the posting
  ///     thread. Of each description, the first 1,000 Unicode scalars are kept.
  ///   - callers: Whether call stacks of posts are captured: 5,000 a second, after a burst of 10,000,
  ///     and of different ones the first 4,096. Other posts have no callers.
  public init(
    of sources: any Traceable..., last capacity: Int = 100_000, values: Bool = false,
    callers: Bool = true
  ) {
    require(capacity > 0, "A trace was asked to keep the last \(capacity) events")
    storage = TraceStorage(capacity: capacity, takesValues: values, takesCallers: callers)
    for source in sources { add(source) }
  }

  deinit { stop() }

  /// Follows one more source.
  ///
  /// A source that is added twice is recorded once. So are two sources with the same events, such as
  /// two names in one of Foundation's centers.
  /// After ``stop()``, recording begins again, for the added source.
  ///
  /// The name and the counts of each source that has had events are kept as long as the trace. So are
  /// those of each line with each delivery: if a program names every queue differently, each name is one
  /// more.
  public func add(_ source: any Traceable) {
    var isAdded = false
    // If the trace is stopped meanwhile, the observation belongs to what has ended.
    while !isAdded {
      let run = following.withLock { $0.run }
      let source = source.inspection
      let name = source.name
      let follower = TraceStorage.Follower(run: run, storage)
      let token = source.events.observe { [storage] event in
        storage.record(event, name, by: follower)
      }
      let one = Followed(
        name: name, groups: source.groupsReader, token: token,
        wish: storage.takesValues ? source.valueWish : nil)
      isAdded = following.withLock { $0.add(one, in: run) }
    }
    let gone = following.withLock { $0.takeGone() }
    withExtendedLifetime(gone) {}
  }

  /// Ends the trace.
  ///
  /// The recorded events stay.
  ///
  /// No event that happens after this returns is recorded.
  public func stop() {
    let followed = following.withLock { following in
      following.run += 1
      defer { following.sources = [] }
      return following.sources
    }
    storage.prepareStop()
    for one in followed { one.token.cancel() }
    if !followed.isEmpty { storage.noteStop() }
  }

  /// The sources that the trace follows.
  var sources: [Followed] { following.withLock { $0.sources } }

  /// The number of events that newer ones have overwritten.
  public var overwrittenCount: Int { storage.current.overwrittenCount }
}
