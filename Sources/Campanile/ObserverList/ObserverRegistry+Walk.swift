import Synchronization

/// What a post reads of one list: plain words, valid until the post leaves.
///
/// No reference is counted here: two threads that post to one source must not write to a common
/// line.
@safe struct Cursor {
  fileprivate let entries: Unmanaged<EntryBuffer>?
  fileprivate let count: Int
  fileprivate let list: Unmanaged<ObserverList>
  fileprivate var index = 0
  fileprivate let hasGroups: Bool

  /// Reads `list`, which an announced post has found.
  @inline(__always)
  init(_ list: Unmanaged<ObserverList>) {
    unsafe self.list = list
    // SAFETY: the announcement keeps the list and its buffer.
    (unsafe entries, count, hasGroups) = unsafe list._withUnsafeGuaranteedRef {
      let entries = unsafe $0.bufferReference
      return unsafe (entries, entries?._withUnsafeGuaranteedRef(\.count) ?? 0, $0.hasGroups)
    }
  }

  /// The identifier that comes next, or the greatest number at the end.
  @inline(__always)
  fileprivate var nextID: UInt64 {
    guard index < count else { return .max }
    return unsafe entries.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.id(at: index) }
  }

  /// Goes to the first entry that is not older than `id`.
  @inline(__always)
  fileprivate mutating func skip(below id: UInt64) {
    if id == 0 { return }
    while nextID < id { index += 1 }
  }

  @inline(__always)
  fileprivate mutating func takeAddress() -> UInt {
    let address = unsafe entries.unsafelyUnwrapped._withUnsafeGuaranteedRef {
      $0.address(at: index)
    }
    index += 1
    return address
  }

  fileprivate var listReference: ObserverList { unsafe list.takeUnretainedValue() }
}

/// The lists that a post reaches: those of its own type, and those of any type.
struct Route<Value, Wide> {
  var all: Cursor?
  var about: Cursor?
  /// The list of observers of any message, and the message as they see it.
  var wide: (cursor: Cursor, value: Wide)?

  init(all: Cursor? = nil) { self.all = all }

  fileprivate var hasGroups: Bool {
    all?.hasGroups == true || about?.hasGroups == true || wide?.cursor.hasGroups == true
  }
}

/// The registrations that a walk is for.
enum Portion {
  case everyone
  /// Those that run inline where the poster is on their target already.
  case unordered
  /// Those that queue always.
  case ordered

  @inline(__always)
  fileprivate func includes(_ observer: AnyObserver) -> Bool {
    switch self {
    case .everyone: true
    case .unordered: !observer.isOrdered
    case .ordered: observer.isOrdered
    }
  }
}

extension ObserverRegistry {
  /// Posts to one list.
  ///
  /// - Parameter limit: the newest registration that may be reached.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: Post = Post(), to list: ObserverList, limit: UInt64 = .max
  ) {
    if list.isEmpty { return }
    let visit = enter()
    unsafe deliver(
      value, post, visit, upTo: min(limit, visit.watermark),
      Route<Value, Never>(all: Cursor(Unmanaged.passUnretained(list))))
  }

  /// Delivers to one registration alone, where it wants its deliveries.
  func post<Value>(_ value: Value, onlyTo registration: Registration) {
    let visit = enter()
    let list = registration.list
    let route = unsafe Route<Value, Never>(all: Cursor(Unmanaged.passUnretained(list)))
    settle(visit)
    if let target = list.groupTarget {
      deliver(
        value, Post(), registration.id...registration.id, Route<Value, Never>(),
        [Stop(target: target, all: list)])
    } else {
      walk(value, Post(), registration.id...registration.id, .everyone, route)
    }
    leave(visit)
  }

  /// Posts along a route that was found within `visit`, and leaves.
  @inline(__always)
  func deliver<Value, Wide>(
    _ value: Value, _ post: Post, _ visit: Visit, upTo watermark: UInt64,
    _ route: Route<Value, Wide>
  ) {
    settle(visit)
    if route.hasGroups {
      deliver(value, post, 0...watermark, route, route.stops)
    } else {
      walk(value, post, 0...watermark, .everyone, route)
    }
    leave(visit)
  }

  /// Calls the observers of `route` whose identifiers are in `range`, in the order they registered.
  @inline(__always)
  func walk<Value, Wide>(
    _ value: Value, _ post: Post, _ range: ClosedRange<UInt64>, _ portion: Portion,
    _ route: Route<Value, Wide>
  ) {
    if route.about == nil && route.wide == nil {
      guard var cursor = route.all else { return }
      cursor.skip(below: range.lowerBound)
      while cursor.nextID <= range.upperBound { call(&cursor, value, post, portion) }
    } else {
      merge(value, post, range, portion, route)
    }
  }

  /// Walks several lists as one.
  @inline(never)
  private func merge<Value, Wide>(
    _ value: Value, _ post: Post, _ range: ClosedRange<UInt64>, _ portion: Portion,
    _ route: Route<Value, Wide>
  ) {
    var all = route.all
    var about = route.about
    var wide = route.wide
    while true {
      let first = all?.nextID ?? .max
      let second = about?.nextID ?? .max
      let third = wide?.cursor.nextID ?? .max
      let next = min(first, second, third)
      if next > range.upperBound { return }
      if next == first {
        call(&all!, value, post, portion)
      } else if next == second {
        call(&about!, value, post, portion)
      } else {
        call(&wide!.cursor, wide!.value, post, portion)
      }
    }
  }

  /// Checks the registration that comes next, and calls its observer.
  @inline(__always)
  private func call<Value>(
    _ cursor: inout Cursor, _ value: Value, _ post: Post, _ portion: Portion
  ) {
    let id = cursor.nextID
    let address = cursor.takeAddress()
    if address == 0 { return }
    // SAFETY: the post is announced and `id` is at or below its mark, so that the observer is kept.
    unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
      guard portion.includes(observer) else { return }
      reach(.willCheck)
      let claim = observer.claim()
      if claim == .skip { return }
      reach(.willCall)
      do {
        try unsafe observer.call(value, post, id, in: cursor.list)
      } catch {
        handle(
          error, at: observer.location,
          of: Registration(list: cursor.listReference, id: id, counters: nil))
      }
      if claim == .callAndEnd { end(id, in: cursor.listReference) }
    }
  }

  /// Calls what waits at the place that an observer sent `value` to, if it has not ended.
  func arrive<Value>(_ value: Value, _ post: Post, at registration: Registration) {
    let (id, list) = (registration.id, registration.list)
    var post = post
    post.registration = registration
    let visit = enter()
    let entries = unsafe list.bufferReference
    settle(visit)
    let address = unsafe entries?._withUnsafeGuaranteedRef { entries in
      entries.index(of: id).map { entries.address(at: $0) }
    }
    if let address, address != 0 {
      // SAFETY: as in `call`.
      unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
        reach(.willCheck)
        let claim = observer.claimArrival()
        if claim == .skip { return }
        reach(.willCall)
        do {
          try observer.callArrival(value, post)
        } catch {
          handle(error, at: observer.location, of: registration)
        }
        if claim == .callAndEnd { end(id, in: list) }
      }
    }
    leave(visit)
  }
}

// MARK: - Targets

extension ObserverRegistry {
  /// Leaves one record for each target, calls the observers that run here, then those whose target
  /// the poster is on already.
  @inline(never)
  private func deliver<Value, Wide>(
    _ value: Value, _ post: Post, _ range: ClosedRange<UInt64>, _ route: Route<Value, Wide>,
    _ stops: [Stop]
  ) {
    var inline: [Stop] = []
    for stop in stops {
      let mailbox = stop.target.mailbox
      // Decided once for this post, before any observer runs.
      let runsInline = stop.hasUnordered && stop.target.isCurrent && mailbox.beginInline()
      if runsInline { inline.append(stop) }
      if runsInline && !stop.hasOrdered { continue }
      post.tracker?.begin()
      var sent = post
      if !stop.hasTold { sent.subject = nil }
      mailbox.append(
        Record<Value, Wide>(
          registry: self, stop: stop, range: range, portion: runsInline ? .ordered : .everyone,
          post: sent, value: value, wideValue: route.wide?.value),
        for: stop.target)
    }
    walk(value, post, range, .everyone, route)
    for stop in inline {
      walk(value, post, range, .unordered, stop.route(Value.self, route.wide?.value))
      stop.target.mailbox.endInline(for: stop.target)
    }
  }

  /// A target of one post, with the groups that the post found for it.
  struct Stop {
    let target: any DeliveryTarget
    var all: ObserverList?
    var about: ObserverList?
    var wide: ObserverList?

    private var lists: [ObserverList] { [all, about, wide].compactMap { $0 } }
    var hasOrdered: Bool { lists.contains(where: \.hasOrdered) }
    var hasUnordered: Bool { lists.contains(where: \.hasUnordered) }
    var hasTold: Bool { lists.contains(where: \.hasTold) }

    /// The way through the groups, for a post that has announced itself.
    func route<Value, Wide>(_: Value.Type, _ wideValue: Wide?) -> Route<Value, Wide> {
      var route = Route<Value, Wide>()
      route.all = all.map { unsafe Cursor(Unmanaged.passUnretained($0)) }
      route.about = about.map { unsafe Cursor(Unmanaged.passUnretained($0)) }
      if let wide, let wideValue {
        unsafe route.wide = (Cursor(Unmanaged.passUnretained(wide)), wideValue)
      }
      return route
    }
  }

  /// What a post leaves at a target: the message, and the groups that hear it.
  private struct Record<Value, Wide>: QueuedRecord {
    let registry: ObserverRegistry
    let stop: Stop
    let range: ClosedRange<UInt64>
    let portion: Portion
    let post: Post
    let value: Value
    let wideValue: Wide?

    func run() {
      let visit = registry.enter()
      let route = stop.route(Value.self, wideValue)
      registry.settle(visit)
      registry.walk(value, post, range, portion, route)
      registry.leave(visit)
      post.tracker?.end()
    }

    func discard() { post.tracker?.end() }
  }
}

extension Route {
  /// The targets that the post stops at, in the order in which they were first named.
  fileprivate var stops: [ObserverRegistry.Stop] {
    var stops: [ObserverRegistry.Stop] = []
    all?.collectGroups(into: &stops, \.all)
    about?.collectGroups(into: &stops, \.about)
    wide?.cursor.collectGroups(into: &stops, \.wide)
    return stops
  }
}

extension Cursor {
  /// Adds the groups of this cursor's list to the stops of a post.
  fileprivate func collectGroups(
    into stops: inout [ObserverRegistry.Stop],
    _ place: WritableKeyPath<ObserverRegistry.Stop, ObserverList?>
  ) {
    guard hasGroups, let groups = listReference.currentGroups else { return }
    for group in groups.groups {
      let index = stops.firstIndex { $0.target.mailbox === group.target.mailbox }
      if let index {
        stops[index][keyPath: place] = group.list
      } else {
        var stop = ObserverRegistry.Stop(target: group.target)
        stop[keyPath: place] = group.list
        stops.append(stop)
      }
    }
  }
}
