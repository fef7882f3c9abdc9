/// Weak references to members of one protocol, called in the order in which they joined.
///
/// Use it where an object has many delegates. Each of them is a class instance:
///
/// ```swift
/// let delegates = Multicast<any PlayerDelegate>()
/// delegates.add(self)
/// delegates.call { $0.playerDidFinish(track) }
/// ```
///
/// ``call(_:)`` calls the members inline, in the caller's isolation, before it returns, so call the
/// multicast on the main actor if its members are isolated to it. No lock is held while a member
/// runs, so a member may add and remove members, die, or call the multicast. A member that joins
/// during a call is called by the next one, and one that leaves before its turn is skipped. The
/// multicast does not keep its members alive.
///
/// To get an answer from the members, use ``first(_:)`` or ``allSatisfy(_:)``. The multicast is Sendable
/// if its members are.
public final class Multicast<Delegate> {
  private let registry = ObserverRegistry()
  private let list: ObserverList

  /// Creates a multicast without members.
  public init() {
    list = ObserverList(registry: registry, valueType: Delegate.self)
  }

  deinit {
    registry.finish([list])
    registry.finishReports()
  }

  /// Adds a member, which leaves automatically when it dies.
  ///
  /// A member that is added twice is called twice. A member that isn't a class instance is a
  /// precondition failure, because it cannot be held weakly.
  ///
  /// - Returns: A handle to pause or remove this membership.
  @discardableResult
  public func add(
    _ member: Delegate, file: StaticString = #fileID, line: UInt = #line
  ) -> Registration {
    list.addMember(member, CallSite(file: file, line: line))
  }

  /// Ends all memberships of `member`.
  ///
  /// - Complexity: O(*n*) in the number of that member's memberships.
  public func remove(_ member: Delegate) {
    registry.endAll(ownedBy: member as AnyObject)
  }

  /// Calls every member, inline, in the order in which they joined.
  ///
  /// If `body` throws, the remaining members are not called.
  ///
  /// - Parameter body: Called with each member, before this method returns and never later.
  /// - Throws: The first error that `body` throws.
  public func call<Failure: Error>(_ body: (Delegate) throws(Failure) -> Void) throws(Failure) {
    try list.callMembers(body)
  }

  /// The first answer of a member, in the order in which they joined.
  ///
  /// ```swift
  /// let cover = delegates.first { $0.cover(of: track) }
  /// ```
  ///
  /// The members after the one that answers are not asked.
  ///
  /// - Parameter body: Called with each member as ``call(_:)`` does, until it returns an answer.
  /// - Returns: The answer, or `nil` if no member has one.
  public func first<Answer, Failure: Error>(
    _ body: (Delegate) throws(Failure) -> Answer?
  ) throws(Failure) -> Answer? {
    var answer: Answer?
    try call { (member: Delegate) throws(Failure) in
      if answer == nil { answer = try body(member) }
    }
    return answer
  }

  /// Whether all members agree, in the order in which they joined; true without members.
  ///
  /// ```swift
  /// if delegates.allSatisfy({ $0.mayStop(player) }) { player.stop() }
  /// ```
  ///
  /// - Parameter predicate: Called with each member as ``call(_:)`` does, until it returns false.
  public func allSatisfy<Failure: Error>(
    _ predicate: (Delegate) throws(Failure) -> Bool
  ) throws(Failure) -> Bool {
    let refusal = try first { (member: Delegate) throws(Failure) in
      try predicate(member) ? nil : false
    }
    return refusal ?? true
  }

  /// The number of memberships that have not ended.
  ///
  /// Memberships of a member that has died do not count.
  ///
  /// - Complexity: O(*n*) in the memberships: each member is checked.
  public var count: Int { registry.count(list.parts) }

  /// The live memberships, oldest first, for debugging.
  public var registrations: [RegistrationDescription] { registry.describe(list.parts) }
}

extension Multicast {
  /// Reports what happens at this multicast, where each call is a post; see
  /// ``Traceable/events``.
  ///
  /// After an error, `called` and `returned` are also reported for each remaining member, which is
  /// not called.
  public var events: Signal<SourceEvent> { registry.events }
}

extension Multicast: Sendable where Delegate: Sendable {}
