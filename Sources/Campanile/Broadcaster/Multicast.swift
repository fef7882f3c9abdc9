/// Weak members of one protocol, called in the order they joined.
///
/// For delegates of which there are many. The protocol is bound to classes, `any P` included:
///
/// ```swift
/// let delegates = Multicast<any PlayerDelegate>()
/// delegates.add(self)
/// delegates.call { $0.playerDidFinish(track) }
/// ```
///
/// Calls are made inline, in the caller's isolation, before ``call(_:)`` returns; a multicast whose
/// members are isolated to the main actor is called there. A member may add and remove members,
/// die, or call the multicast, while it is being called: who joins hears the next call, who leaves
/// before its turn is skipped. No lock is held while a member runs. Members are not kept alive.
///
/// A call ends with the first error that the closure throws. So the first member that can do
/// something is found like this:
///
/// ```swift
/// var isOpen = false
/// delegates.call { if !isOpen { isOpen = $0.open(link) } }
/// ```
///
/// The multicast is Sendable if its members are.
public final class Multicast<Delegate> {
  private let registry = ObserverRegistry()
  private let list: ObserverList

  /// Creates a multicast without members.
  public init() {
    list = ObserverList(registry: registry, topic: .init(value: Delegate.self, subject: nil))
  }

  deinit {
    registry.finish { _ in [list] }
    registry.finishReports()
  }

  /// Adds a member, which leaves by itself when it dies.
  ///
  /// Adding a member twice makes it two members. A member that is no class instance is a
  /// precondition failure: it could not be held weakly.
  ///
  /// - Returns: A handle to pause or remove this membership.
  @discardableResult
  public func add(
    _ member: Delegate, file: StaticString = #fileID, line: UInt = #line
  ) -> Registration {
    list.addMember(member, SourceLocation(file: file, line: line))
  }

  /// Ends all memberships of `member`.
  ///
  /// - Complexity: O(*n*) in the memberships of that member.
  public func remove(_ member: Delegate) {
    registry.endAll(ownedBy: member as AnyObject) { _ in true }
  }

  /// Calls every member, inline, in the order they joined.
  ///
  /// If `body` throws, the members whose turn had not come are not called.
  ///
  /// - Parameter body: What to do with each member. It is called before this method returns, and
  ///   never after.
  /// - Throws: The first error that `body` throws.
  public func call<Failure: Error>(_ body: (Delegate) throws(Failure) -> Void) throws(Failure) {
    var failure: Failure?
    withoutActuallyEscaping(body) { body in
      let call: (Delegate) -> Void = { member in
        if failure != nil { return }
        do throws(Failure) {
          try body(member)
        } catch {
          failure = error
        }
      }
      registry.post(call, Post(), to: list)
    }
    if let failure { throw failure }
  }

  /// How many memberships have not ended.
  ///
  /// Those of a member that has died do not count.
  ///
  /// - Complexity: O(*n* log *n*).
  public var count: Int { registrations.count }

  /// The live memberships, oldest first, for debugging.
  public var registrations: [RegistrationDescription] { registry.describe { _ in [list] } }
}

extension Multicast {
  /// What happens here, to be observed at any time: each call is a post; see ``MessageCenter/events``.
  public var events: Signal<SourceEvent> { registry.reports.events.signal }
}

extension Multicast: Sendable where Delegate: Sendable {}
