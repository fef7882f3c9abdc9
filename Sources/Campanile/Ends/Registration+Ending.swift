import Dispatch

extension Registration {
  /// The number of the registration: unique in its source, and greater than all earlier ones.
  ///
  /// It is 0 if the source refused the registration. All such handles of one source are equal.
  public var number: UInt64 { id }

  /// Ends the registration.
  ///
  /// After this method returns, no call begins, neither by a post in progress nor by a queued
  /// delivery. The method does not wait for a call that has begun on another thread; the result
  /// says whether there may be one. The observer's captures are released here or, if a post is in
  /// progress, when the last such post has ended, on its thread. A thread that lists or counts the
  /// observations, or sweeps dead owners, may retain them for a moment, and then releases them.
  ///
  /// If the observer is asynchronous, its task is canceled.
  ///
  /// - Complexity: O(log *n*) in the number of observers in the list, and O(1) for one of the
  ///   newest.
  @discardableResult
  public func cancel() -> Cancellation { list.registry.end(self) }

  /// The result of a wait for the calls in progress.
  public enum Wait: Sendable, Hashable {
    /// No call of the observer is running.
    case finished
    /// The caller is itself inside an observer, so it did not wait.
    case insideObserver
  }

  /// Ends the registration and blocks until no call of its observer is running.
  ///
  /// It waits at most for the posts of this source that are in progress now, never for one that
  /// begins later. Inside any observer it returns `insideObserver` at once, so observers that
  /// cancel each other cannot deadlock. It does not know about locks: if the caller holds a lock
  /// that the running observer needs, both wait forever.
  ///
  /// Do not call it on the main actor, another actor or a queue to which a call in progress must
  /// return, such as that of an asynchronous observer on the main actor, because both would wait
  /// forever. Write `await` there.
  @available(*, noasync, message: "Write await cancelAndWait(), which suspends instead of blocking")
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
  /// Like the blocking form, but it suspends the task instead of blocking the thread.
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

  /// Whether the registration has not ended and its owner, if there is one, has not died.
  public var isActive: Bool {
    // Asked outside the lock: the question can release the owner.
    list.registry.observer(of: self)?.isLive ?? false
  }

  /// Whether the source still has the observer.
  ///
  /// While the only call of a `.once` observer runs in a task, this is true although the
  /// registration is no longer active, and ending the registration cancels the task.
  var isKept: Bool { ask { _ in true } }

  /// The number of values that the registration's buffer dropped, or that waited there when the target
  /// ended.
  ///
  /// It can be read after the registration has ended. It is always 0 without a bounded buffer.
  public var droppedCount: Int { counters?.droppedCount ?? 0 }

  /// The number of values that wait in the registration's own buffer.
  ///
  /// A sequence, an asynchronous observer and an observer with a bounded buffer have their own
  /// buffer. The number is 0 for all other observers, even while values wait on a target that they
  /// share. It is 0 after the registration has ended.
  public var waitingCount: Int {
    // Asked outside the lock.
    list.registry.observer(of: self)?.details?.buffer?.waitingCount() ?? 0
  }
}

extension ObservationToken {
  /// Ends the registration and blocks until no call is running; see
  /// `cancelAndWait()` of a ``Registration``.
  @available(*, noasync, message: "Write await cancelAndWait(), which suspends instead of blocking")
  public func cancelAndWait() -> Registration.Wait { registration.cancelAndWait() }

  /// Ends the registration and suspends until no call is running.
  public func cancelAndWait() async -> Registration.Wait { await registration.cancelAndWait() }
}
