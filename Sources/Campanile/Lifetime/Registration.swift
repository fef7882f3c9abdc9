import Dispatch

/// One registered observer: a handle that can end it, and does not end it by itself.
///
/// A value of three words that keeps neither the observer nor its owner alive. Two handles are
/// equal if they name the same registration. All methods are safe from any thread and from inside
/// an observer, and do nothing once the registration has ended.
public struct Registration: Sendable, Hashable {
  let list: ObserverList
  let id: UInt64
  let companion: Companion

  /// What a few registrations need besides; one word.
  enum Companion: Sendable {
    case none
    case counters(DeliveryCounters)
    /// The address of the subject of a registration that was the only one about it when it was
    /// made; by now that may stand in a list.
    case subject(SubjectAddress)

    var counters: DeliveryCounters? {
      if case .counters(let counters) = self { counters } else { nil }
    }
  }

  init(list: ObserverList, id: UInt64, companion: Companion) {
    self.list = list
    self.id = id
    self.companion = companion
  }

  init(list: ObserverList, id: UInt64, counters: DeliveryCounters?) {
    self.init(list: list, id: id, companion: counters.map { .counters($0) } ?? .none)
  }

  var counters: DeliveryCounters? { companion.counters }

  /// The number of the registration: no other one of its source has it, and those that were made
  /// later have greater ones.
  public var number: UInt64 { id }

  /// What a call to ``cancel()`` found.
  public enum Cancellation: Sendable, Hashable {
    /// The registration has ended, and no call of its observer is running on another thread.
    case ended
    /// The registration has ended; a call that began before may still be running elsewhere.
    case endedWhileMaybeRunning
    /// The registration had ended before.
    case alreadyEnded

    init(_ ending: Ending, _ companion: Companion) {
      self =
        switch ending {
        case .late: .alreadyEnded
        case .now(let mayBeRunning):
          mayBeRunning || companion.counters?.isRunning == true ? .endedWhileMaybeRunning : .ended
        }
    }
  }

  /// Ends the registration.
  ///
  /// No delivery begins after this returned: not by a post in progress that has not reached the
  /// observer, not by one that is queued. A call that has begun on another thread is not waited
  /// for; the result says whether there may be one. What the observer captured is released as soon
  /// as the posts in progress have left, on the thread of the last of them, or here.
  ///
  /// An asynchronous observer's task is canceled.
  ///
  /// - Complexity: O(log *n*) in the observers of the list, and O(1) for one of the newest.
  @discardableResult
  public func cancel() -> Cancellation {
    Cancellation(list.registry.end(self), companion)
  }

  /// What a wait for the calls in progress came to.
  public enum Wait: Sendable, Hashable {
    /// No call of the observer is running.
    case finished
    /// The caller is inside an observer itself and was not made to wait.
    case insideObserver
  }

  /// Ends the registration and blocks until no call of its observer is running.
  ///
  /// Waits at most for the posts of this source that are in progress now, never for one that begins
  /// later. Inside any observer it returns at once and says so, so that observers which cancel each
  /// other cannot deadlock. It cannot know of locks: a caller that holds one which the running
  /// observer wants waits forever.
  @available(*, noasync, message: "Write await cancelAndWait(), which suspends instead of blocking")
  @discardableResult
  public func cancelAndWait() -> Wait {
    if ThreadRecord.isInsidePost || AsyncCall.isInside {
      cancel()
      return .insideObserver
    }
    let done = DispatchSemaphore(value: 0)
    cancel { done.signal() }
    done.wait()
    return .finished
  }

  /// Ends the registration and suspends until no call of its observer is running.
  ///
  /// As the blocking `cancelAndWait()`, for asynchronous code.
  @discardableResult
  public func cancelAndWait() async -> Wait {
    if AsyncCall.isInside {
      cancel()
      return .insideObserver
    }
    await withCheckedContinuation { continuation in
      cancel { continuation.resume() }
    }
    return .finished
  }

  /// Ends the registration, and calls `resume` when no call is running.
  private func cancel(thenResume resume: @escaping @Sendable () -> Void) {
    list.registry.end(self) { [counters] in
      if let counters { counters.afterCalls(resume) } else { resume() }
    }
  }

  /// Skips deliveries until ``resume()`` has been called as often.
  ///
  /// A delivery whose turn comes while the registration is paused is skipped, not kept. What would
  /// wait in a buffer of the observer's own is skipped too if it is posted meanwhile: for a
  /// sequence, an asynchronous observer, and one with a bounded buffer.
  ///
  /// What an observer of a state misses in this way it is told as one change when it resumes.
  public func pause() {
    list.registry.withObserver(of: self) { $0.pause() }
  }

  /// Takes one ``pause()`` back.
  ///
  /// Without a pause to take back this does nothing. An observer of a ``CurrentValue`` that missed
  /// changes is told one when the last pause is taken back, from the value that it knew to the
  /// newest: where it is delivered, and for immediate delivery before this returns, unless followers
  /// are being told a change just then. To call it with a lock held is to have the observer called
  /// with the lock held.
  public func resume() {
    if takeBackPause() { tellMissed() }
  }

  /// Takes one pause back, and calls nobody.
  ///
  /// - Returns: Whether `tellMissed` is to follow, under no lock.
  func takeBackPause() -> Bool {
    list.registry.withObserver(of: self) { $0.isPaused && $0.resume() } ?? false
  }

  func tellMissed() {
    list.registry.observer(of: self)?.details?.skipKeeper?.resume(self)
  }

  /// Whether deliveries are being skipped.
  public var isPaused: Bool {
    list.registry.withObserver(of: self) { $0.isPaused } ?? false
  }

  /// Whether the registration has not ended.
  ///
  /// The registration of an owner that has died may say so until it has been looked at.
  public var isActive: Bool {
    list.registry.withObserver(of: self) { !$0.isEnded } ?? false
  }

  /// Whether the source still has the observer.
  ///
  /// Also while the only call runs in a task, when the registration is not active any more: to end
  /// it then is to cancel the task.
  var isKept: Bool {
    list.registry.withObserver(of: self) { _ in true } ?? false
  }

  /// How many values the registration's buffer had no room for.
  ///
  /// Stays readable after the end. Always 0 without a bounded buffer.
  public var droppedCount: Int { counters?.droppedCount ?? 0 }

  /// How many values wait in the registration's own buffer.
  ///
  /// A sequence, an asynchronous observer and an observer with a bounded buffer have their own
  /// buffer. The number is 0 for all others, also while values wait on a target that they share, and
  /// after the registration has ended.
  public var waitingCount: Int {
    let buffer = list.registry.withObserver(of: self) { $0.details?.buffer } ?? nil
    // Asked outside the lock.
    return buffer?.waitingCount() ?? 0
  }

  /// Whether two handles name the same registration.
  public static func == (one: Self, other: Self) -> Bool {
    one.id == other.id && one.list.registry === other.list.registry
  }

  /// Hashes the registration's identity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(ObjectIdentifier(list.registry))
  }
}
