import Campanile
import Dispatch

/// The observers of a distributed center, in the order in which they were added.
final class DistributedObservers: Sendable {
  private struct State {
    var observers: [DistributedObserver] = []
    var suspension = Suspension()
  }

  private let state = Locked(State())

  // MARK: Observers

  /// Adds an observer, and removes those whose objects have ended.
  func add(_ observer: DistributedObserver) {
    remove { $0.isOver }
    state.withLock { $0.observers.append(observer) }
  }

  func contains(where isWanted: (DistributedObserver) -> Bool) -> Bool {
    state.withLock { $0.observers }.contains(where: isWanted)
  }

  func remove(where isUnwanted: (DistributedObserver) -> Bool) {
    let observers = state.withLock { $0.observers }.filter(isUnwanted)
    if observers.isEmpty { return }
    for observer in observers { observer.end() }
    let ids = Set(observers.map { ObjectIdentifier($0) })
    // `observers` keeps them until the lock is released.
    state.withLock { state in
      state.observers.removeAll { ids.contains(ObjectIdentifier($0)) }
      state.suspension.forget(ids)
    }
  }

  // MARK: Delivering

  /// Delivers a post to its observers, on the main queue.
  func receive(_ post: DistributedPost) {
    DispatchQueue.main.async {
      self.make(
        self.state.withLock { state in
          state.suspension.receive(post, state.observers.filter { $0.matches(post) })
        })
    }
  }

  var isSuspended: Bool { state.withLock { $0.suspension.isSuspended } }

  func setSuspended(_ isSuspended: Bool) {
    let isFlushDue = state.withLock { $0.suspension.set(isSuspended) }
    if !isFlushDue { return }
    DispatchQueue.main.async { self.make(self.state.withLock { $0.suspension.takeDue() }) }
  }

  private func make(_ calls: [DistributedCall]) {
    for call in calls { call.observer.receive(call.post) }
  }
}

/// A post that an observer is to receive.
struct DistributedCall: Sendable {
  let observer: DistributedObserver
  let post: DistributedPost
}

/// What is held for observers while the center is suspended, in the order of arrival.
struct Suspension {
  private(set) var isSuspended = false
  private var held: [DistributedCall] = []
  /// Whether what is held is to be delivered before anything else.
  private var isFlushDue = false

  /// How many calls are held.
  private static let limit = 1_000

  /// - Returns: Whether somebody is to deliver what is due.
  mutating func set(_ isSuspended: Bool) -> Bool {
    defer { self.isSuspended = isSuspended }
    if isSuspended || !self.isSuspended || held.isEmpty { return false }
    isFlushDue = true
    return true
  }

  mutating func takeDue() -> [DistributedCall] { isFlushDue ? takeAll() : [] }

  private mutating func takeAll() -> [DistributedCall] {
    defer { (held, isFlushDue) = ([], false) }
    return held
  }

  /// Holds, for each of these observers, what it is not to receive yet.
  ///
  /// - Returns: The calls to make now, in order.
  mutating func receive(
    _ post: DistributedPost, _ observers: [DistributedObserver]
  ) -> [DistributedCall] {
    let due = takeDue()
    let calls = observers.map { DistributedCall(observer: $0, post: post) }
    if !isSuspended || post.isImmediate { return due + calls }
    if observers.contains(where: { $0.behavior == .deliverImmediately }) {
      return due + takeAll() + calls
    }
    for call in calls where call.observer.behavior != .drop {
      if call.observer.behavior == .coalesce { held.removeAll { $0.isReplaced(by: call) } }
      held.append(call)
    }
    return held.count < Self.limit ? due : due + takeAll()
  }

  mutating func forget(_ observers: Set<ObjectIdentifier>) {
    held.removeAll { observers.contains(ObjectIdentifier($0.observer)) }
  }
}

extension DistributedCall {
  /// Whether the other call is of the same observer, name and object.
  fileprivate func isReplaced(by other: DistributedCall) -> Bool {
    observer === other.observer && post.name == other.post.name && post.object == other.post.object
  }
}
