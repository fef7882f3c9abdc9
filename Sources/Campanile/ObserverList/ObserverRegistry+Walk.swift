import Synchronization

/// What a post reads of one list: plain words, valid until the post leaves.
///
/// No reference is counted here: two threads that post to one source must not write to a common
/// line.
@safe struct Cursor {
  /// The entry that comes next.
  fileprivate var next: UnsafeMutablePointer<Entry>?
  /// How many entries there are from `next` on.
  fileprivate var rest: Int
  fileprivate let list: Unmanaged<ObserverList>
  let hasGroups: Bool

  /// Reads `list`, which an announced post has found.
  @inline(__always)
  init(_ list: Unmanaged<ObserverList>) {
    unsafe self.list = list
    // SAFETY: the announcement keeps the list and its buffer.
    (unsafe next, rest, hasGroups) = unsafe list._withUnsafeGuaranteedRef { list in
      guard let entries = list.entries else { return (nil, 0, list.hasGroups) }
      return unsafe (entries.base, entries.count, list.hasGroups)
    }
  }

  @inline(__always)
  fileprivate var isAtEnd: Bool { rest == 0 }

  /// The identifier that comes next, or the greatest number at the end.
  @inline(__always)
  fileprivate var nextID: UInt64 {
    if isAtEnd { return .max }
    // SAFETY: `rest` was counted from what was published.
    return unsafe next.unsafelyUnwrapped.pointee.id.load(ordering: .acquiring)
  }

  /// Goes to the first entry that is not older than `id`.
  @inline(__always)
  fileprivate mutating func skip(below id: UInt64) {
    if id == 0 { return }
    while nextID < id { goOn() }
  }

  @inline(__always)
  private mutating func goOn() {
    unsafe next = unsafe next.unsafelyUnwrapped + 1
    rest &-= 1
  }

  /// The observer that comes next, or 0; `nextID` has shown that there is an entry.
  @inline(__always)
  fileprivate mutating func takeAddress() -> UInt {
    // SAFETY: as above.
    let entry = unsafe next.unsafelyUnwrapped
    goOn()
    return unsafe entry.pointee.observer.load(ordering: .acquiring)
  }

  var listReference: ObserverList { unsafe list.takeUnretainedValue() }
}

/// The only observer about a subject, with the topic that it stands in.
@safe struct SingleOfTopic {
  fileprivate let single: Single
  fileprivate let topic: Unmanaged<TopicList>

  fileprivate var registration: Registration {
    // SAFETY: who posts keeps the topic until the post returns.
    Registration(
      list: unsafe topic.takeUnretainedValue(), id: single.id,
      companion: .subject(single.subject))
  }
}

/// The lists that a post reaches where it reaches more than one: those of its own type, and that of
/// any type.
///
/// Not generic, like everything here that a post has on its stack but the value itself: the layout
/// of a generic type would have to be looked up at each post.
struct Route {
  var all: Cursor?
  var about: Cursor?
  /// The only observer about the subject, in place of `about`.
  var single: SingleOfTopic?
  /// The list of the observers of any message.
  var wide: Cursor?

  var hasGroups: Bool {
    all?.hasGroups == true || about?.hasGroups == true || wide?.hasGroups == true
  }

  /// Adds those who observe `subject`, for a post that has announced itself.
  @inline(__always)
  mutating func find(_ subject: ObjectIdentifier, in topic: TopicList) {
    switch topic.find(subject) {
    case .list(let list): about = unsafe Cursor(list)
    case .single(let single):
      self.single = unsafe SingleOfTopic(
        single: single, topic: Unmanaged.passUnretained(topic))
    case nil: break
    }
  }
}

/// A message as observers of any message are given it; made once for a post, if there are any.
final class WideValue: Sendable {
  let message: MessageCenter.PostedMessage

  init(_ message: MessageCenter.PostedMessage) { self.message = message }
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
  /// Whether a post to `list` comes to anybody.
  ///
  /// A source asks before it calls `post`, so that a post that nobody hears costs no more than the
  /// question.
  @inline(__always)
  func isHeard(_ list: ObserverList) -> Bool { !list.isEmpty || onEvent != nil }

  /// Posts to one list.
  ///
  /// - Parameter limit: the newest registration that may be reached.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to list: ObserverList, limit: UInt64 = .max
  ) {
    note(.posted, Value.self)
    let visit = enter()
    let cursor = unsafe Cursor(Unmanaged.passUnretained(list))
    let watermark = min(limit, visit.watermark)
    if cursor.hasGroups {
      postToTargets(value, post, watermark, cursor, visit)
    } else {
      settle(visit)
      walk(value, post, 0...watermark, .everyone, cursor)
    }
    leave(visit)
  }

  /// Posts along a route that was found within `visit`, and leaves.
  @inline(__always)
  func deliver<Value>(
    _ value: Value, _ wideValue: WideValue?, _ post: borrowing Post, _ visit: Visit, _ route: Route
  ) {
    if route.hasGroups {
      postToTargets(value, wideValue, post, visit.watermark, route, visit)
    } else {
      settle(visit)
      walk(value, wideValue, post, 0...visit.watermark, .everyone, route)
    }
    leave(visit)
  }

  /// Calls the observers of one list whose identifiers are in `range`, in the order they
  /// registered.
  @inline(__always)
  func walk<Value>(
    _ value: Value, _ post: borrowing Post, _ range: ClosedRange<UInt64>, _ portion: Portion,
    _ start: Cursor
  ) {
    var cursor = start
    cursor.skip(below: range.lowerBound)
    while !cursor.isAtEnd {
      let id = cursor.nextID
      if id > range.upperBound { return }
      call(&cursor, id, value, post, portion)
    }
  }

  /// Calls the observers of `route` whose identifiers are in `range`, in the order they registered.
  func walk<Value>(
    _ value: Value, _ wideValue: WideValue?, _ post: borrowing Post, _ range: ClosedRange<UInt64>,
    _ portion: Portion, _ route: Route
  ) {
    switch (route.all, route.about, route.single, route.wide) {
    case (let only?, nil, nil, nil), (nil, let only?, nil, nil):
      walk(value, post, range, portion, only)
    case (nil, nil, let only?, nil):
      if range.contains(only.single.id) { call(only, value) }
    default: merge(value, wideValue, post, range, portion, route)
    }
  }

  /// Walks several lists as one.
  private func merge<Value>(
    _ value: Value, _ wideValue: WideValue?, _ post: borrowing Post, _ range: ClosedRange<UInt64>,
    _ portion: Portion, _ route: Route
  ) {
    var all = route.all
    var about = route.about
    var single = route.single
    var wide = route.wide
    while true {
      let first = all?.nextID ?? .max
      let second = about?.nextID ?? single?.single.id ?? .max
      let third = wide?.nextID ?? .max
      let next = min(first, second, third)
      if next > range.upperBound { return }
      if next == first {
        call(&all!, next, value, post, portion)
      } else if next == second {
        if let only = single.take() {
          call(only, value)
        } else {
          call(&about!, next, value, post, portion)
        }
      } else {
        // A route with a wide list comes with a wide value.
        call(&wide!, next, wideValue!.message, post, portion)
      }
    }
  }

  /// Checks the registration that comes next, and calls its observer.
  @inline(__always)
  private func call<Value>(
    _ cursor: inout Cursor, _ id: UInt64, _ value: Value, _ post: borrowing Post,
    _ portion: Portion
  ) {
    let address = cursor.takeAddress()
    if address == 0 { return }
    // SAFETY: the post is announced and `id` is at or below its mark, so that the observer is kept.
    unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
      reach(.willCheck)
      // The common case, in as few steps as there can be.
      if portion != .ordered && observer.isPlain {
        reach(.willCall)
        do {
          try observer.callPlainly(value)
        } catch {
          handle(error, of: observer, id, in: cursor.listReference)
        }
      } else {
        callCarefully(observer, id, in: cursor.listReference, value, post, portion)
      }
    }
  }

  /// Checks a registration that stands alone with its subject, and calls its observer.
  @inline(__always)
  private func call<Value>(_ only: SingleOfTopic, _ value: Value) {
    // SAFETY: as above.
    unsafe ObserverList.observer(at: only.single.address)._withUnsafeGuaranteedRef { observer in
      reach(.willCheck)
      // It wants nothing but the value; what it may be is ended or paused.
      guard observer.isPlain || observer.claim() == .call else { return }
      reach(.willCall)
      do {
        try observer.callPlainly(value)
      } catch {
        handle(error, at: observer.location, of: only.registration)
      }
    }
  }

  /// Does the same for an observer that wants more than the value, or may not be called.
  @inline(never)
  private func callCarefully<Value>(
    _ observer: AnyObserver, _ id: UInt64, in list: ObserverList, _ value: Value,
    _ post: borrowing Post, _ portion: Portion
  ) {
    guard portion.includes(observer) else { return }
    let claim = observer.claim()
    if claim == .skip { return }
    // An observer with a place of its own is called there.
    if !observer.hasArrival { note(.called, list.topic.value, observer.location) }
    reach(.willCall)
    do {
      try observer.call(value, post, id, in: list)
    } catch {
      handle(error, of: observer, id, in: list)
    }
    if claim == .callAndEnd { end(Registration(list: list, id: id, counters: nil)) }
  }

  @inline(never)
  private func handle(
    _ error: any Error, of observer: AnyObserver, _ id: UInt64, in list: ObserverList
  ) {
    handle(
      error, at: observer.location, of: Registration(list: list, id: id, counters: nil))
  }

  /// Calls what waits at the place that an observer sent `value` to, if it has not ended.
  ///
  /// - Returns: The call, if it is to be made in a task.
  @discardableResult
  func arrive<Value>(
    _ value: Value, _ post: borrowing Post, at registration: Registration
  ) -> PreparedCall? {
    let (id, list) = (registration.id, registration.list)
    var call: PreparedCall?
    let visit = enter()
    let entries = list.entries
    settle(visit)
    let address = entries.flatMap { entries in
      entries.index(of: id).map { entries.observer(at: $0) }
    }
    if let address, address != 0 {
      // SAFETY: as in `call`.
      unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
        reach(.willCheck)
        let claim = observer.claimArrival()
        if claim == .skip { return }
        note(.called, list.topic.value, observer.location)
        reach(.willCall)
        do {
          call = try observer.callArrival(value, post, registration)
        } catch {
          handle(error, at: observer.location, of: registration)
        }
        if claim == .callAndEnd { end(registration) }
      }
    }
    leave(visit)
    return call
  }
}
