import Campanile
import Synchronization

/// The receivers of arriving messages, by name.
final class Routes: Sendable {
  /// A receiver of the messages that match a pattern.
  final class Route: Sendable {
    fileprivate let pattern: SubjectPattern
    private let body: @Sendable (RelayedPayload) -> Void
    private let isEnded = Atomic<Bool>(false)

    init(_ pattern: SubjectPattern, _ body: @escaping @Sendable (RelayedPayload) -> Void) {
      self.pattern = pattern
      self.body = body
    }

    func deliver(_ message: RelayedPayload) {
      if !isEnded.load(ordering: .acquiring) { body(message) }
    }

    /// Hears nothing more, once this has returned, but for a call that runs.
    func end() { isEnded.store(true, ordering: .releasing) }
  }

  /// A name and a sender, and what was found for them.
  final class Heading: Sendable {
    fileprivate let name: String
    let routes: [Route]
    let sender: RelayPeer
    fileprivate let generation: Int

    fileprivate init(_ name: String, _ routes: [Route], _ sender: RelayPeer, _ generation: Int) {
      (self.name, self.routes, self.sender, self.generation) = (name, routes, sender, generation)
    }
  }

  private struct Wanted: Hashable {
    let pattern: String
    /// Whether requests are wanted, and not messages.
    let answers: Bool
  }

  private struct State {
    var routes: [Route] = []
    /// Those of a name that has been looked for.
    var found: [String: [Route]] = [:]
    /// How many want each pattern.
    var wanted: [Wanted: Int] = [:]
    /// Whether no more requests are wanted, whoever asks for some.
    var isAnsweringOver = false
    var peers: [UInt64: RelayPeer] = [:]
    /// The sender of stored messages, which may have left long ago.
    var sender: RelayPeer?
  }

  private let state = Locked(State())
  /// Counts the changes of routes and peers; changed under the lock.
  private let generation = Atomic<Int>(0)
  /// So many names are remembered.
  private static var limit: Int { 4_096 }

  // MARK: Patterns

  /// Counts one more who wants the messages, or the requests, of a pattern.
  ///
  /// - Parameter queue: Called for the first, under the lock: who comes next, and returns, finds in
  ///   the queue what says so.
  /// - Returns: What `queue` returned, or `false`.
  func want(_ pattern: String, answers: Bool, _ queue: () -> Bool) -> Bool {
    let pattern = Wanted(pattern: pattern, answers: answers)
    return state.withLock { state in
      if answers, state.isAnsweringOver { return false }
      state.wanted[pattern, default: 0] += 1
      return state.wanted[pattern] == 1 && queue()
    }
  }

  /// Counts one less.
  ///
  /// - Parameter queue: Called for the last, under the lock.
  /// - Returns: What `queue` returned, or `false`.
  func unwant(_ pattern: String, answers: Bool, _ queue: () -> Bool) -> Bool {
    let pattern = Wanted(pattern: pattern, answers: answers)
    return state.withLock { state in
      guard let count = state.wanted[pattern] else { return false }
      state.wanted[pattern] = count == 1 ? nil : count - 1
      return count == 1 && queue()
    }
  }

  /// Nobody wants the requests of any pattern any more, nor will.
  ///
  /// - Parameter queue: Called for each pattern, under the lock.
  /// - Returns: Whether `queue` has returned `true` once.
  func unwantAnswers(_ queue: (String) -> Bool) -> Bool {
    state.withLock { state in
      state.isAnsweringOver = true
      var isFirst = false
      for wanted in state.wanted.keys where wanted.answers {
        state.wanted[wanted] = nil
        if queue(wanted.pattern) { isFirst = true }
      }
      return isFirst
    }
  }

  // MARK: Routes

  func add(_ route: Route) {
    state.withLock { state in
      state.routes.append(route)
      state.found = [:]
      generation.add(1, ordering: .releasing)
    }
  }

  func remove(_ route: Route) {
    route.end()
    state.withLock { state in
      state.routes.removeAll { $0 === route }
      state.found = [:]
      generation.add(1, ordering: .releasing)
    }
  }

  /// Who hears the messages of a name, and who has sent one.
  ///
  /// - Parameter last: What was found last, which is right if nothing has changed since.
  func find(_ name: String, of sender: UInt64, after last: Heading? = nil) -> Heading {
    // Without the lock. A message that a new route must receive arrives after the route was counted.
    if let last, last.generation == generation.load(ordering: .acquiring),
      last.sender.id == sender, last.name == name
    {
      return last
    }
    return state.withLock { state in
      let known = state.found[name]
      let routes = known ?? state.routes.filter { $0.pattern.matches(name) }
      if known == nil {
        if state.found.count >= Self.limit { state.found = [:] }
        state.found[name] = routes
      }
      let peer = state.peers[sender] ?? (state.sender?.id == sender ? state.sender : nil)
      return Heading(
        name, routes, peer ?? RelayPeer(id: sender, name: "", processID: 0, isHub: false),
        generation.load(ordering: .relaxed))
    }
  }

  // MARK: Peers

  func setPeers(_ peers: [RelayPeer]) {
    // Those who have left are remembered: what they sent may still be on its way.
    state.withLock { state in
      if state.peers.count > Self.limit { state.peers = [:] }
      for peer in peers { state.peers[peer.id] = peer }
      generation.add(1, ordering: .releasing)
    }
  }

  /// Names the sender of the messages that come next.
  func remember(_ sender: RelayPeer) {
    state.withLock { state in
      state.sender = sender
      generation.add(1, ordering: .releasing)
    }
  }

  func peer(_ id: UInt64) -> RelayPeer? { state.withLock { $0.peers[id] } }
}
