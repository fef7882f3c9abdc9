import Campanile
import Synchronization

/// The receivers of arriving messages, by name.
final class Routes: Sendable {
  /// A receiver of the messages that match a pattern.
  final class Route: Sendable {
    fileprivate let pattern: SubjectPattern
    fileprivate let group: String?
    fileprivate let whenEnded: @Sendable () -> Void
    private let body: @Sendable (RelayedPayload, Route) -> Bool
    private let isEnded = Atomic<Bool>(false)

    /// - Parameters:
    ///   - group: Those who share the messages.
    ///   - whenEnded: Called when the relay has ended, and nothing more comes.
    ///   - body: Says whether it took the message; it can see whether the route has ended since.
    init(
      _ pattern: SubjectPattern, in group: String? = nil,
      _ whenEnded: @escaping @Sendable () -> Void = {},
      _ body: @escaping @Sendable (RelayedPayload, Route) -> Bool
    ) {
      (self.pattern, self.group, self.whenEnded, self.body) = (pattern, group, whenEnded, body)
    }

    /// - Returns: Whether the message has been taken.
    @discardableResult
    func deliver(_ message: RelayedPayload) -> Bool {
      !hasEnded && body(message, self)
    }

    var hasEnded: Bool { isEnded.load(ordering: .acquiring) }

    /// Ends the route: no call begins after this has returned.
    func end() { isEnded.store(true, ordering: .releasing) }
  }

  /// A name and a sender, and what was found for them.
  final class Heading: Sendable {
    fileprivate let name: String
    /// The receivers, in the order in which they were added.
    let routes: [Route]
    let sender: RelayPeer
    fileprivate let generation: Int

    fileprivate init(_ name: String, _ routes: [Route], _ sender: RelayPeer, _ generation: Int) {
      (self.name, self.routes, self.sender, self.generation) = (name, routes, sender, generation)
    }
  }

  /// A pattern that a relay asks its link for.
  struct Wanted: Hashable, Sendable {
    enum What { case messages, requests }
    let what: What
    let pattern: String
    /// Those who share the messages.
    let group: String?

    init(_ what: What, _ pattern: String, _ group: String? = nil) {
      (self.what, self.pattern, self.group) = (what, pattern, group)
    }

    var beginning: RelayOperation {
      what == .requests ? .answer(pattern) : .subscribe(pattern, group: group)
    }
    var end: RelayOperation {
      what == .requests ? .stopAnswering(pattern) : .unsubscribe(pattern, group: group)
    }
  }

  /// A name, for all or for those of a group.
  fileprivate struct Name: Hashable {
    let text: String
    let group: String?
  }

  fileprivate struct State {
    /// Those whose pattern is a name, by that name, and the others.
    var named: [Name: [Numbered]] = [:]
    var others: [Numbered] = []
    var lastNumber = 0
    /// Those of a name that has been looked for.
    var found: [Name: [Route]] = [:]
    var isEnded = false
    /// How many want each pattern.
    var wanted: [Wanted: Int] = [:]
    /// Whether no more requests are wanted, even if an observer asks for some.
    var isAnsweringOver = false
    var peers: [UInt64: RelayPeer] = [:]
    /// The sender of the last messages, which may have left long ago.
    var sender: RelayPeer?

    func peer(_ id: UInt64) -> RelayPeer? { peers[id] ?? (sender?.id == id ? sender : nil) }
  }

  /// A route, and its place in the order in which all were added.
  fileprivate struct Numbered {
    let number: Int
    let route: Route
  }

  private let state = Locked(State())
  /// Counts the changes of routes and peers; changed under the lock.
  private let generation = Atomic<Int>(0)
  /// So many names are remembered.
  private static var limit: Int { 4_096 }

  // MARK: Patterns

  /// Counts one more observer that wants the messages, or the requests, of a pattern.
  ///
  /// - Parameter queue: Called for the first, under the lock, so that a later caller finds the
  ///   operation in the queue when it returns.
  /// - Returns: What `queue` returned, or `false`.
  func want(_ wanted: Wanted, _ queue: () -> Bool) -> Bool {
    state.withLock { state in
      if wanted.what == .requests, state.isAnsweringOver { return false }
      state.wanted[wanted, default: 0] += 1
      return state.wanted[wanted] == 1 && queue()
    }
  }

  /// Counts one less.
  ///
  /// - Parameter queue: Called for the last, under the lock.
  /// - Returns: What `queue` returned, or `false`.
  func unwant(_ wanted: Wanted, _ queue: () -> Bool) -> Bool {
    state.withLock { state in
      guard let count = state.wanted[wanted] else { return false }
      state.wanted[wanted] = count == 1 ? nil : count - 1
      return count == 1 && queue()
    }
  }

  /// Ends the answering of requests, of all patterns and for good.
  ///
  /// - Parameter queue: Called for each pattern, under the lock.
  /// - Returns: Whether `queue` has returned `true` once.
  func unwantAnswers(_ queue: (String) -> Bool) -> Bool {
    state.withLock { state in
      state.isAnsweringOver = true
      var isFirst = false
      for wanted in state.wanted.keys where wanted.what == .requests {
        state.wanted[wanted] = nil
        if queue(wanted.pattern) { isFirst = true }
      }
      return isFirst
    }
  }

  // MARK: Routes

  func add(_ route: Route) {
    let isEnded = state.withLock { state in
      if state.isEnded { return true }
      state.lastNumber += 1
      let numbered = Numbered(number: state.lastNumber, route: route)
      if let name = route.name {
        state.named[name, default: []].append(numbered)
      } else {
        state.others.append(numbered)
      }
      state.found = [:]
      generation.add(1, ordering: .releasing)
      return false
    }
    if isEnded { route.whenEnded() }
  }

  func remove(_ route: Route) {
    route.end()
    state.withLock { state in
      if let name = route.name {
        state.named[name]?.removeAll { $0.route === route }
        if state.named[name]?.isEmpty == true { state.named[name] = nil }
      } else {
        state.others.removeAll { $0.route === route }
      }
      state.found = [:]
      generation.add(1, ordering: .releasing)
    }
  }

  /// The relay has ended: no more messages arrive, nor for routes that are added later.
  func end() {
    let routes = state.withLock { state in
      state.isEnded = true
      defer { (state.named, state.others, state.found) = ([:], [], [:]) }
      return (state.named.values.joined() + state.others).map(\.route)
    }
    for route in routes {
      route.end()
      route.whenEnded()
    }
  }

  /// The routes that receive the messages of a name, and the peer that has sent one.
  ///
  /// - Parameters:
  ///   - group: The group that received the message as one; without it, the routes outside groups.
  ///   - last: The last result without a group, which is returned if nothing has changed since.
  func find(
    _ text: String, of sender: UInt64, in group: String? = nil, after last: Heading? = nil
  ) -> Heading {
    // Without the lock. A message that a new route must receive arrives after the route was counted.
    if let last, last.generation == generation.load(ordering: .acquiring),
      last.sender.id == sender, last.name == text
    {
      return last
    }
    return state.withLock { state in
      let name = Name(text: text, group: group)
      let known = state.found[name]
      let routes = known ?? state.routes(of: name)
      if known == nil {
        if state.found.count >= Self.limit { state.found = [:] }
        state.found[name] = routes
      }
      return Heading(
        text, routes,
        state.peer(sender) ?? RelayPeer(id: sender, name: "", processID: 0, isHub: false),
        generation.load(ordering: .relaxed))
    }
  }

  // MARK: Peers

  func setPeers(_ peers: [RelayPeer]) {
    // Peers that have left are remembered, because their messages may still be on the way.
    state.withLock { state in
      if state.peers.count > Self.limit { state.peers = [:] }
      for peer in peers { state.peers[peer.id] = peer }
      generation.add(1, ordering: .releasing)
    }
  }

  /// Names the sender of the next messages.
  func remember(_ sender: RelayPeer) {
    state.withLock { state in
      state.sender = sender
      generation.add(1, ordering: .releasing)
    }
  }

  func peer(_ id: UInt64) -> RelayPeer? { state.withLock { $0.peer(id) } }
}

extension Routes.Route {
  /// The pattern, if it is a name.
  fileprivate var name: Routes.Name? {
    pattern.hasWildcard ? nil : Routes.Name(text: pattern.text, group: group)
  }
}

extension Routes.State {
  fileprivate func routes(of name: Routes.Name) -> [Routes.Route] {
    let others = others.filter {
      $0.route.group == name.group && $0.route.pattern.matches(name.text)
    }
    return (named[name, default: []] + others).sorted { $0.number < $1.number }.map(\.route)
  }
}
