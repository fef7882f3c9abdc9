import Synchronization

/// A structure that posts read: a buffer, a group array, a table or a list.
protocol Retirable: AnyObject, Sendable {
  /// The clock's time when it was made; a post with a lower upper bound does not hold it.
  var created: UInt64 { get }
}

/// The structures that a change under the lock removes, to be released outside the lock.
struct Garbage {
  /// Mostly there is none, and an empty array would be counted.
  private var kept: [any Retirable]?

  var structures: [any Retirable] { kept ?? [] }

  var isEmpty: Bool { kept == nil }

  mutating func add(_ structure: (any Retirable)?) {
    guard let structure else { return }
    if kept == nil { kept = [structure] } else { kept?.append(structure) }
  }

  /// The oldest of `time` and the times of the structures.
  func oldest(_ time: UInt64 = .max) -> UInt64 {
    isEmpty ? time : structures.reduce(time) { min($0, $1.created) }
  }
}

/// One post in progress, as a scan found it.
///
/// The reservation names the post. While something waits with the ticket, the reservation has the
/// ticket flag, or its thread is on the way to `reclaim`. The thread uses the reservation again
/// only after that.
struct Ticket: Equatable {
  fileprivate let reservation: UInt
  fileprivate let thread: UInt
  let upperBound: UInt64

  static func == (one: Self, other: Self) -> Bool { one.reservation == other.reservation }
}

extension [Ticket] {
  /// The tickets of those posts that may hold what was made at `since`.
  ///
  /// Of a thread's nested posts the outermost is enough: it leaves last.
  fileprivate func reaching(_ since: UInt64) -> [Ticket] {
    var tickets: [Ticket] = []
    // A scan finds the posts of one thread together, the outermost first.
    for post in self where post.upperBound >= since && post.thread != tickets.last?.thread {
      tickets.append(post)
    }
    return tickets
  }
}

/// The objects to release when certain posts have left.
struct LimboList {
  let tickets: [Ticket]
  fileprivate(set) var objects: [any AnyObject & Sendable]

  fileprivate func waits(for reservation: UInt) -> Bool {
    tickets.contains { $0.reservation == reservation }
  }
}

/// A caller that waits for posts to leave, which is retired like what they may hold: its release
/// resumes it.
final class Waiter: Sendable {
  private let resume: @Sendable () -> Void

  init(_ resume: @escaping @Sendable () -> Void) { self.resume = resume }

  deinit { resume() }
}

extension ObserverRegistry.State {
  /// Keeps objects until the posts with `tickets` have left.
  ///
  /// Tickets are in the order of the scans, which is always the same: equal sets are equal arrays.
  fileprivate mutating func keep(
    _ objects: [any AnyObject & Sendable], for tickets: [Ticket]
  ) {
    if let index = limbo.lastIndex(where: { $0.tickets == tickets }) {
      limbo[index].objects += objects
    } else {
      limbo.append(LimboList(tickets: tickets, objects: objects))
    }
  }

  /// Gives back the tickets of the post in `reservation`, which has left.
  ///
  /// Limbo lists that now wait for the same posts are merged. So there are at most as many limbo
  /// lists as the posts in progress make sets of tickets, however much has ended.
  ///
  /// - Returns: The objects that wait for no post any more.
  fileprivate mutating func takeTickets(of reservation: UInt) -> [any AnyObject & Sendable] {
    var done: [any AnyObject & Sendable] = []
    let waiting = limbo.filter { $0.waits(for: reservation) }
    limbo.removeAll { $0.waits(for: reservation) }
    for list in waiting {
      let rest = list.tickets.filter { $0.reservation != reservation }
      if rest.isEmpty { done += list.objects } else { keep(list.objects, for: rest) }
    }
    return done
  }
}

extension ObserverRegistry {
  /// Ends one registration: no call of it begins after this has returned.
  ///
  /// - Parameter resume: Called once the posts that may be calling the observer have left. The
  ///   caller is in none of them. It does not wait for posts that begin later.
  @discardableResult
  func end(
    _ registration: Registration, whenLeft resume: (@Sendable () -> Void)? = nil
  ) -> Registration.Cancellation {
    end(registration.id, in: registration.list, registration.counters, whenLeft: resume)
  }

  /// Ends a registration that is named by its parts.
  // Apart: this is long, and called from many places.
  @inline(never)
  func end(
    _ id: UInt64, in list: ObserverList, _ counters: DeliveryCounters?,
    whenLeft resume: (@Sendable () -> Void)? = nil
  ) -> Registration.Cancellation {
    var garbage = Garbage()
    var mayBeRunning = false
    let waiter = resume.map { Waiter($0) }
    // Under no lock, and last: a waiter that no post keeps is released here.
    defer { extendLifetime(waiter) }
    let ended = unsafe withState { state, held -> Unmanaged<AnyObserver>? in
      guard let index = list.index(of: id, held) else {
        if let waiter { keep(waiter, since: id, for: scan(since: id, held), &state) }
        return nil
      }
      unsafe list.observer(at: index, held)._withUnsafeGuaranteedRef { $0.markEnded(held) }
      reach(.willRemove)
      // Handed out with the result: it is not released here.
      let observer = unsafe list.unlink(at: index, &garbage, held)
      if let details = unsafe observer._withUnsafeGuaranteedRef({ $0.details }), details.hasOwner {
        state.ownerSweep.noteEnd()
        if let owner = details.ownerID { forget(id, of: owner, &state) }
      }
      reach(.willScan)
      let posts = list.trim(held) { scan(since: garbage.oldest(id), held) }
      if !posts.isEmpty {
        mayBeRunning = posts.contains {
          $0.upperBound >= id && $0.thread != ThreadRecord.addressInScans
        }
        if let waiter { keep(waiter, since: id, for: posts, &state) }
        keep(unsafe observer.takeUnretainedValue(), since: id, for: posts, &state)
        retire(garbage, from: posts, &state)
      }
      reach(.willShrink)
      if let left = list.shrink(held) {
        let posts = scan(since: left.created, held)
        keep(left, since: left.created, for: posts, &state)
        garbage.add(left)
      }
      return unsafe observer
    }
    guard let ended = unsafe ended else { return .alreadyEnded }
    unsafe ended._withUnsafeGuaranteedRef { observer in
      note(.ended, observer, Registration(list: list, id: id, counters: counters))
      observer.details?.onEnd?(Registration(list: list, id: id, counters: counters))
    }
    presence.load()?.look()
    reach(.willReclaim)
    // The observer and the garbage go here, unless posts in progress hold them.
    unsafe ended.release()
    garbage = Garbage()
    return mayBeRunning || counters?.calls.isEmpty == false ? .endedWhileMaybeRunning : .ended
  }

  private func forget(_ id: UInt64, of owner: ObjectIdentifier, _ state: inout State) {
    guard let index = state.owners.index(forKey: owner) else { return }
    state.owners.values[index].remove(id)
    if state.owners.values[index].isEmpty { state.owners.remove(at: index) }
  }

  /// Ends the registrations of `owner`, limited to a type of values, a key and a subject if these are
  /// given.
  ///
  /// - Complexity: O(*n*) in the registrations of that owner.
  @inline(never)
  func endAll(
    ownedBy owner: AnyObject, of type: (any Any.Type)? = nil, under key: String? = nil,
    about subject: AnyObject? = nil
  ) {
    // Its name is its own while it lives, so it is kept.
    defer { withExtendedLifetime(subject) {} }
    let name = subject.flatMap { SubjectName(known: $0) }
    if subject != nil && name == nil { return }
    // Chosen under the lock, because the lists of live registrations exist there.
    let owned = withState { state in
      (state.owners[ObjectIdentifier(owner)]?.all ?? []).filter { _, list in
        (type == nil || list.valueType == type) && (key == nil || list.topicKey == key)
          && (name == nil || list.subject == name)
      }
    }
    for (id, list) in owned { end(Registration(list: list, id: id, counters: nil)) }
  }

  /// Ends what lists hold, each without its parts, oldest first, and refuses every later
  /// registration.
  ///
  /// In the order of a table of subjects, which is the order of their hashes, this would take
  /// quadratic time. The remaining entries would cluster in one part of the smaller tables.
  func finish(_ parts: (borrowing Held) -> [ObserverList]) {
    // Without the observers: each is released in its turn.
    let ended = withState { state, held -> [Registration] in
      state.isFinished = true
      return parts(held).flatMap { $0.members(held) }.map(\.registration)
    }
    endAll(ended.oldestFirst)
  }

  func finish(_ lists: [ObserverList]) { finish { held in lists.flatMap { $0.parts(held) } } }

  // Apart: what takes a closure is compiled for each one.
  @inline(never)
  private func endAll(_ registrations: [Registration]) {
    for registration in registrations { end(registration) }
    // The lists keep the registry, which must not keep them forever.
    _ = withState { $0.ownerSweep.removeAll() }
  }

  /// The posts in progress.
  ///
  /// It is called before anything is decided from them. Those posts that may hold what was made at
  /// `since` come to `reclaim` when they leave. The caller keeps a ticket of each of them, or of a
  /// post around it on the same thread.
  @inline(never)
  private func scan(since: UInt64, _ held: borrowing Held) -> [Ticket] {
    storeClockAgain(held)
    // Pairs with `enter`: a post that sets its bit later loads the clock as it is stored above.
    if mask.load(ordering: .sequentiallyConsistent) == 0 { return [] }
    // Pairs with `enter`, too: a post that still found its bit has announced itself before.
    let bits = mask.exchange(0, ordering: .sequentiallyConsistent)
    var posts: [Ticket] = []
    var inside: UInt64 = 0
    unsafe ThreadRecord.forEachPost(of: bits) { reservation, source, thread, bit in
      guard source & ~Reservation.ticketFlag == address else { return }
      inside |= bit
      unsafe collect(reservation, source, thread, since, &posts)
    }
    // No pair: the lock orders the scans. The bits of threads that are outside stay forgotten.
    if inside != 0 { mask.bitwiseOr(inside, ordering: .relaxed) }
    return posts
  }

  /// Collects a post, and sets its flag if it may hold what was made at `since`.
  private func collect(
    _ reservation: UnsafeMutablePointer<Reservation>, _ source: UInt, _ thread: UInt,
    _ since: UInt64, _ posts: inout [Ticket]
  ) {
    // Pairs with `widen`: the scan stored the clock first. And with `narrow`: the bound before it
    // keeps more.
    let upperBound = unsafe reservation.pointee.upperBound.load(ordering: .sequentiallyConsistent)
    if upperBound >= since {
      // Pairs with `leave`: if the post has left, it has read what it held. If it takes the flag,
      // it comes to the lock after this thread.
      let (isOpen, _) = unsafe reservation.pointee.source.compareExchange(
        expected: source, desired: source | Reservation.ticketFlag, ordering: .acquiring)
      if !isOpen { return }
    }
    posts.append(
      Ticket(reservation: UInt(bitPattern: reservation), thread: thread, upperBound: upperBound))
    reach(.collected)
  }

  /// Keeps what posts in progress may hold of `garbage`; the caller releases its own references
  /// outside the lock.
  private func retire(_ garbage: Garbage, from posts: [Ticket], _ state: inout State) {
    for one in garbage.structures { keep(one, since: one.created, for: posts, &state) }
  }

  /// Keeps what posts in progress may hold of `garbage`, after reading the reservations.
  func retire(_ garbage: Garbage, _ state: inout State, _ held: borrowing Held) {
    if garbage.isEmpty { return }
    retire(garbage, from: scan(since: garbage.oldest(), held), &state)
  }

  /// Keeps an object until all of `posts` that may hold it have left.
  private func keep(
    _ object: any AnyObject & Sendable, since: UInt64, for posts: [Ticket], _ state: inout State
  ) {
    let tickets = posts.reaching(since)
    if !tickets.isEmpty { state.keep([object], for: tickets) }
  }

  /// Gives back the tickets of the post in `reservation`, which has left.
  ///
  /// It releases what waited for that post alone; first the callers that wait, because code that an
  /// observer's release runs may need what such a caller holds.
  @inline(never)
  func reclaim(_ reservation: UInt) {
    reach(.willReclaim)
    var done = withState { $0.takeTickets(of: reservation) }
    done.removeAll { $0 is Waiter }
    done.removeAll()
  }
}

extension ObserverList {
  /// Ends one registration of this list, for a caller that keeps the list.
  func end(_ id: UInt64, _ counters: DeliveryCounters?) -> Registration.Cancellation {
    // SAFETY: the list keeps its registry.
    unsafe Unmanaged.passUnretained(registry)._withUnsafeGuaranteedRef {
      $0.end(id, in: self, counters)
    }
  }
}
