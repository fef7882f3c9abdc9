import Synchronization

/// What a change under the lock leaves over, to be released outside it.
struct Garbage {
  /// A buffer, a group array, a table or a list that was replaced, with the time it was made.
  typealias Piece = (structure: any AnyObject & Sendable, since: UInt64)

  var structures: [Piece] = []
}

/// One post in progress, as a scan found it.
///
/// The frame names the post. When it leaves it is told to look, and sees to it that its tickets
/// go before its thread can use the frame again: a ticket that is kept is that of the post in its
/// frame.
struct Ticket: Equatable {
  fileprivate let frame: UInt
  let mark: UInt64

  static func == (one: Self, other: Self) -> Bool { one.frame == other.frame }

  /// Whether the post is still in progress at `source`.
  fileprivate func isOpen(at source: UInt) -> Bool {
    // SAFETY: frames are never freed.
    let frame = unsafe UnsafePointer<PostFrame>(bitPattern: frame)!
    return unsafe frame.pointee.source.load(ordering: .sequentiallyConsistent) == source
  }
}

/// What waits for some posts to leave before it is released.
struct Retired {
  var tickets: [Ticket]
  var objects: [any AnyObject & Sendable]
}

/// Who waits for some posts to leave.
struct Waiter {
  var tickets: [Ticket]
  var resume: @Sendable () -> Void
}

/// How a registration ended, as seen by the call that tried to end it.
enum Ending {
  /// The registration had ended before.
  case late
  /// Ended now, by the caller; whether a call that had begun on another thread may still run.
  case now(mayBeRunning: Bool)
}

extension ObserverRegistry {
  /// Ends one registration: no call of it begins after this returned.
  ///
  /// - Parameter resume: Called once the posts which may be calling the observer have left, for a
  ///   caller that is in none of them. Posts that begin later are not waited for.
  @discardableResult
  func end(
    _ registration: Registration, whenLeft resume: (@Sendable () -> Void)? = nil
  ) -> Ending {
    end(registration.id, in: registration.list, registration.companion, whenLeft: resume)
  }

  /// Ends a registration that is named by its parts.
  func end(
    _ id: UInt64, in list: ObserverList, _ companion: Registration.Companion,
    whenLeft resume: (@Sendable () -> Void)? = nil
  ) -> Ending {
    var garbage = Garbage()
    var mayBeRunning = false
    var mustWait = false
    let ended = unsafe withState { state -> Unmanaged<AnyObserver>? in
      guard let seat = list.seat(of: id, companion) else {
        if let resume {
          mustWait = wait(for: id, among: scan(), resume, &state)
          updatePending(state)
        }
        return nil
      }
      unsafe seat.observer._withUnsafeGuaranteedRef { $0.markEnded() }
      reach(.willRemove)
      // Handed out with the result: it is not released here.
      let observer = unsafe seat.take(&garbage)
      if let owner = unsafe observer._withUnsafeGuaranteedRef({ $0.details?.ownerID }) {
        forget(id, of: owner, &state)
      }
      reach(.willScan)
      let posts = seat.trim { scan() }
      if !posts.isEmpty {
        mayBeRunning = posts.contains { $0.mark >= id && !ThreadRecord.currentOwns($0.frame) }
        keep(unsafe observer.takeUnretainedValue(), since: id, for: posts, &state)
        retire(garbage, from: posts, &state)
      }
      reach(.willShrink)
      if let left = seat.shrink() {
        keep(left.structure, since: left.since, for: scan(), &state)
        garbage.structures.append(left)
      }
      if let resume { mustWait = wait(for: id, among: posts, resume, &state) }
      updatePending(state)
      return unsafe observer
    }
    defer { if !mustWait { resume?() } }
    guard let ended = unsafe ended else { return .late }
    unsafe ended._withUnsafeGuaranteedRef { observer in
      note(.ended, list.topic.value, observer.location)
      if let details = observer.details {
        details.onEnd?(Registration(list: list, id: id, companion: companion))
      }
    }
    reach(.willReclaim)
    // The observer and the garbage go here, unless posts in progress hold them.
    unsafe ended.release()
    garbage = Garbage()
    return .now(mayBeRunning: mayBeRunning)
  }

  private func forget(_ id: UInt64, of owner: ObjectIdentifier, _ state: inout State) {
    state.ownerSweep.noteEnd()
    guard let index = state.owners.index(forKey: owner) else { return }
    state.owners.values[index].remove(id)
    if state.owners.values[index].isEmpty { state.owners.remove(at: index) }
  }

  /// Ends the registrations of `owner` for which `isIncluded` holds.
  ///
  /// - Complexity: O(*n*) in the registrations of that owner.
  func endAll(ownedBy owner: AnyObject, where isIncluded: (ObserverList) -> Bool) {
    let owned = withState { $0.owners[ObjectIdentifier(owner)]?.all ?? [] }
    for (id, list) in owned where isIncluded(list) {
      end(Registration(list: list, id: id, counters: nil))
    }
  }

  /// Ends what `lists` hold, oldest first, and refuses every later registration.
  ///
  /// In the order of a table of subjects, which is that of their hashes, this would take a time that
  /// grows with the square: what is left comes to stand in one part of the smaller tables.
  func finish(_ lists: () -> [ObserverList]) {
    var registrations = withState { state -> [Registration] in
      state.isFinished = true
      return lists().flatMap(\.registrations).map(\.registration)
    }
    registrations.sort { $0.id < $1.id }
    for registration in registrations { end(registration) }
    // The lists keep the registry, which must not keep them forever.
    _ = withState { $0.ownerSweep.removeAll() }
  }

  // MARK: Posts in progress

  /// The posts in progress.
  ///
  /// Under the lock, and before anything is decided from it.
  private func scan() -> [Ticket] {
    setPending()
    var posts: [Ticket] = []
    var bits = mask.load(ordering: .sequentiallyConsistent)
    while bits != 0 {
      let bit = bits.trailingZeroBitCount
      bits &= bits - 1
      if collect(bit, &posts) { continue }
      // Nobody of this bit is inside: forget it, so that the next scan is spared. A thread that
      // announced itself before it could see the bit gone is found by looking again.
      reach(.willForget)
      mask.bitwiseAnd(~(1 << UInt64(bit)), ordering: .sequentiallyConsistent)
      if collect(bit, &posts) {
        mask.bitwiseOr(1 << UInt64(bit), ordering: .sequentiallyConsistent)
      }
    }
    return posts
  }

  private func collect(_ bit: Int, _ posts: inout [Ticket]) -> Bool {
    let count = posts.count
    unsafe ThreadRecord.forEachFrame(ofBit: bit) { frame in
      guard unsafe frame.pointee.source.load(ordering: .sequentiallyConsistent) == address else {
        return
      }
      let mark = unsafe frame.pointee.mark.load(ordering: .sequentiallyConsistent)
      posts.append(Ticket(frame: UInt(bitPattern: frame), mark: mark))
    }
    return posts.count > count
  }

  /// Keeps what posts in progress may hold of `garbage`; the caller releases its own references
  /// outside the lock.
  private func retire(_ garbage: Garbage, from posts: [Ticket], _ state: inout State) {
    for (structure, since) in garbage.structures {
      keep(structure, since: since, for: posts, &state)
    }
  }

  /// Keeps what posts in progress may hold of `garbage`, after reading the frames.
  func retire(_ garbage: Garbage, _ state: inout State) {
    if garbage.structures.isEmpty { return }
    retire(garbage, from: scan(), &state)
    updatePending(state)
  }

  /// Keeps an object until those of `posts` have left that may hold it.
  private func keep(
    _ object: any AnyObject & Sendable, since: UInt64, for posts: [Ticket], _ state: inout State
  ) {
    let tickets = posts.filter { $0.mark >= since }
    if tickets.isEmpty { return }
    if state.retired.last?.tickets != tickets {
      state.retired.append(Retired(tickets: tickets, objects: []))
    }
    state.retired[state.retired.count - 1].objects.append(object)
  }

  /// Takes back what a scan said to leaving posts, if nothing waits for one.
  private func updatePending(_ state: State) {
    if state.retired.isEmpty && state.waiters.isEmpty { clearPending() }
  }

  /// Releases what waited for posts that have left, and resumes who waited for them.
  @inline(never)
  func reclaim() {
    reach(.willReclaim)
    var released: [any AnyObject & Sendable] = []
    var resumed: [@Sendable () -> Void] = []
    withState { state in
      state.retired = state.retired.compactMap { retired in
        let tickets = retired.tickets.filter { $0.isOpen(at: address) }
        if tickets.isEmpty {
          released += retired.objects
          return nil
        }
        return Retired(tickets: tickets, objects: retired.objects)
      }
      state.waiters = state.waiters.compactMap { waiter in
        let tickets = waiter.tickets.filter { $0.isOpen(at: address) }
        if tickets.isEmpty {
          resumed.append(waiter.resume)
          return nil
        }
        return Waiter(tickets: tickets, resume: waiter.resume)
      }
      updatePending(state)
    }
    for resume in resumed { resume() }
    released = []
  }

  /// Resumes somebody when the posts that may be calling `id` have left.
  ///
  /// - Returns: whether there are any.
  private func wait(
    for id: UInt64, among posts: [Ticket], _ resume: @escaping @Sendable () -> Void,
    _ state: inout State
  ) -> Bool {
    let posts = posts.filter { $0.mark >= id }
    if posts.isEmpty { return false }
    state.waiters.append(Waiter(tickets: posts, resume: resume))
    return true
  }
}

extension ObserverList {
  /// Ends one registration of this list, for a caller that keeps the list.
  func end(_ id: UInt64, _ companion: Registration.Companion) -> Ending {
    // SAFETY: the list keeps its registry.
    unsafe Unmanaged.passUnretained(registry)._withUnsafeGuaranteedRef {
      $0.end(id, in: self, companion)
    }
  }
}

extension ObserverRegistry {
  /// Runs `body` with the observer of a registration, under the lock, unless it has ended.
  func withObserver<Result: Sendable>(
    of registration: Registration, _ body: (AnyObserver) -> Result
  ) -> Result? {
    withState { _ in unsafe registration.seat?.observer._withUnsafeGuaranteedRef(body) }
  }
}
