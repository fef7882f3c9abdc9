import Synchronization

/// The position of a post in one list, as plain words that are valid until the post leaves.
///
/// No reference is counted here: two threads that post to one source must not write to a common
/// line.
@safe struct Cursor: @unchecked Sendable {
  /// The next entry.
  private var next: UnsafeMutablePointer<Entry>?
  /// How many entries there are from `next` on.
  private var rest = 0
  /// The list, or `nil` for none.
  let list: Unmanaged<ObserverList>?

  /// The end of no list.
  @inline(__always)
  init() { unsafe list = nil }

  /// The end of a list that is to be read later.
  @inline(__always)
  init(unread list: ObserverList) { unsafe self.list = Unmanaged.passUnretained(list) }

  /// Reads `list`, which an announced post has found.
  @inline(__always)
  init(_ list: Unmanaged<ObserverList>) {
    unsafe self.list = list
    // SAFETY: the announcement keeps the list and its buffer.
    unsafe list._withUnsafeGuaranteedRef { list in
      guard let entries = list.entries else { return }
      (unsafe next, rest) = unsafe (entries.base, entries.count)
    }
  }

  /// Whether the list has observers that run elsewhere.
  ///
  /// Asked before the section settles.
  @inline(__always)
  var hasGroups: Bool { unsafe list?._withUnsafeGuaranteedRef { $0.hasGroups } ?? false }

  @inline(__always)
  fileprivate var isAtEnd: Bool { rest == 0 }

  /// The next identifier, or the greatest number at the end.
  @inline(__always)
  fileprivate var nextID: UInt64 {
    if isAtEnd { return .max }
    // SAFETY: `rest` was counted from what was published.
    // Pairs with `append`: the observer is in place.
    return unsafe next.unsafelyUnwrapped.pointee.number.load(ordering: .acquiring)
  }

  /// Goes to the first entry that is not older than `id`, in logarithmic time.
  @inline(__always)
  fileprivate mutating func skip(below id: UInt64) {
    if id != 0 && nextID < id { search(below: id) }
  }

  /// Finds that entry by bisection, since the identifiers ascend: what is written meanwhile is beyond
  /// those that the post may look for.
  private mutating func search(below id: UInt64) {
    // The first `low` entries are older, and those from `high` on are not.
    var (low, high) = (1, rest)
    while low < high {
      let middle = low + (high - low) / 2
      var cursor = self
      cursor.goOn(middle)
      if cursor.nextID < id { low = middle + 1 } else { high = middle }
    }
    goOn(low)
  }

  @inline(__always)
  private mutating func goOn(_ count: Int = 1) {
    unsafe next = unsafe next.unsafelyUnwrapped + count
    rest &-= count
  }

  /// The next observer, or 0; `nextID` has shown that there is an entry.
  @inline(__always)
  fileprivate mutating func takeAddress() -> UInt {
    // SAFETY: as above.
    let entry = unsafe next.unsafelyUnwrapped
    goOn()
    // Pairs with `append` and `take`: the observer, or the tombstone.
    return unsafe entry.pointee.address.load(ordering: .acquiring)
  }

  /// The list, of which there is one.
  @inline(__always)
  var listReference: ObserverList { unsafe list.unsafelyUnwrapped.takeUnretainedValue() }
}

/// The lists that a post reaches: those of its topic, and those of any topic.
///
/// A mailbox has routes too, for a target that the post reaches: their lists are groups. They keep
/// neither the target nor the groups.
///
/// It is not generic, because the layout of a generic type would have to be looked up at each post.
/// This holds for everything else that a post has on its stack, except the value.
struct Route: Sendable {
  var all = Cursor()
  /// The observers about the subject.
  var about = Cursor()
  /// The observers of any topic.
  var wide = Cursor()
  /// The observers of any topic about the subject.
  var wideAbout = Cursor()

  /// Whether one of these lists has observers that run elsewhere.
  private(set) var hasGroups = false

  /// The cursor with this number.
  subscript(place: Int) -> Cursor {
    get { place == 0 ? all : place == 1 ? about : place == 2 ? wide : wideAbout }
    set {
      switch place {
      case 0: all = newValue
      case 1: about = newValue
      case 2: wide = newValue
      default: wideAbout = newValue
      }
    }
  }
  static let places = 0..<4

  /// Reads a list that an announced post has found.
  @inline(__always)
  mutating func read(_ list: Unmanaged<ObserverList>) -> Cursor {
    let cursor = unsafe Cursor(list)
    if cursor.hasGroups { hasGroups = true }
    return cursor
  }

  /// Adds the lists of a topic: the one of any subject, and the one of `subject`, for a post that
  /// has announced itself.
  @inline(__always)
  mutating func find(_ subject: ObjectIdentifier?, in topic: TopicList) {
    if !topic.isEmpty { all = unsafe read(Unmanaged.passUnretained(topic)) }
    if let subject, let list = unsafe topic.find(subject) { about = unsafe read(list) }
  }

  /// Adds the lists of any topic: the one of any subject, and the one of `subject`.
  mutating func findWide(_ subject: ObjectIdentifier?, in topic: TopicList) {
    if !topic.isEmpty { wide = unsafe read(Unmanaged.passUnretained(topic)) }
    if let subject, let list = unsafe topic.find(subject) { wideAbout = unsafe read(list) }
  }

  /// The only list; `nil` if there are none or several.
  var only: Cursor? {
    var only: Cursor?
    for place in Self.places where unsafe self[place].list != nil {
      if only != nil { return nil }
      only = self[place]
    }
    return only
  }

  /// The lists read again, by a post that has announced itself.
  var reread: Route {
    var route = self
    for place in Self.places {
      if let list = unsafe self[place].list { route[place] = unsafe route.read(list) }
    }
    return route
  }

  func forEach(_ body: (ObserverList) -> Void) {
    for place in Self.places { unsafe self[place].list?._withUnsafeGuaranteedRef(body) }
  }
}

/// The registrations that a walk is for, and whether each is checked.
///
/// They are checked if calls are observed as events.
enum Portion {
  case everyone
  /// The registrations that run inline if the poster is on their target already.
  case unordered
  case everyoneChecked
  case unorderedChecked
  /// The registrations that always queue, each of which is checked anyway.
  case ordered

  @inline(__always)
  fileprivate func includes(_ observer: AnyObserver) -> Bool {
    switch self {
    case .everyone, .everyoneChecked: true
    case .unordered, .unorderedChecked: !observer.isOrdered
    case .ordered: observer.isOrdered
    }
  }

  /// Whether a plain observer of the portion is called without a check.
  @inline(__always)
  fileprivate var callsPlainly: Bool { self == .everyone || self == .unordered }

  /// The part of the portion that runs inline.
  var inline: Portion { callsPlainly ? .unordered : .unorderedChecked }
}

extension ObserverRegistry {
  /// Whether a post to `list` reaches any observer.
  ///
  /// A source checks this before it calls `post`, so that a post without observers costs only the
  /// check.
  @inline(__always)
  func isHeard(_ list: ObserverList) -> Bool {
    !list.isEmpty || isWatched
  }

  /// All registrations, each of which is checked if calls are observed as events now.
  @inline(__always)
  var everyone: Portion {
    isWatched ? .everyoneChecked : .everyone
  }

  /// Posts to one list.
  ///
  /// - Parameter range: The registrations that may be reached.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to list: ObserverList,
    in range: ClosedRange<UInt64> = 0...UInt64.max
  ) {
    if isWatched {
      postWatched(value, post, to: list, in: range)
    } else {
      self.post(value, post, to: list, in: range, .everyone)
    }
  }

  /// Posts to one list, and reports it and each call.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  private func postWatched<Value>(
    _ value: Value, _ post: borrowing Post, to list: ObserverList, in range: ClosedRange<UInt64>
  ) {
    // One that was kept for later was reported where it was made.
    let isNew = post.number == 0
    // An observer that registers while the post is reported receives the next one.
    let newest = min(range.upperBound, now)
    let post = isNew ? notePosted(value, of: list.valueType, post) : copy post
    if range.lowerBound <= newest {
      postToEach(value, post, to: list, in: range.lowerBound...newest)
    }
    if isNew { notePostReturned(list.valueType, post) }
  }

  /// Posts to one list, and reports each call.
  @inline(never)
  func postToEach<Value>(
    _ value: Value, _ post: borrowing Post, to list: ObserverList, in range: ClosedRange<UInt64>
  ) {
    self.post(value, post, to: list, in: range, .everyoneChecked)
  }

  /// Posts to one list, and reports nothing.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to list: ObserverList, in range: ClosedRange<UInt64>,
    _ portion: Portion
  ) {
    let section = enter(upTo: range.upperBound)
    let cursor = unsafe Cursor(Unmanaged.passUnretained(list))
    let newest = section.watermark
    if cursor.hasGroups {
      assert(range.lowerBound == 0, "Observers on targets get all that is posted to their list")
      postToTargets(value, post, newest, portion, cursor, section)
    } else {
      settle(section)
      if range.lowerBound <= newest {
        walk(value, post, range.lowerBound...newest, portion, cursor)
      }
    }
    exit(section)
  }

  /// Posts along a route that was found within `section`, and leaves.
  @inline(__always)
  func deliver<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post, _ portion: Portion,
    _ section: CriticalSection, _ route: inout Route
  ) {
    if route.hasGroups {
      postToTargets(value, wideValue, post, section.watermark, portion, &route, section)
    } else {
      settle(section)
      walk(value, wideValue, post, 0...section.watermark, portion, &route)
    }
    exit(section)
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
  ///
  /// The route is used up, in its own place: an observer may post again, and each level of that
  /// takes as much of the stack.
  ///
  /// - Parameter wideValue: What the observers of any topic receive, or `nil` if it is the value.
  func walk<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post,
    _ range: ClosedRange<UInt64>,
    _ portion: Portion, _ route: inout Route
  ) {
    if unsafe route.wide.list == nil, unsafe route.wideAbout.list == nil {
      if unsafe route.about.list == nil { return walk(value, post, range, portion, route.all) }
      if unsafe route.all.list == nil { return walk(value, post, range, portion, route.about) }
    }
    merge(value, wideValue, post, range, portion, &route)
  }

  /// Walks several lists as one.
  @inline(never)
  private func merge<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post,
    _ range: ClosedRange<UInt64>,
    _ portion: Portion, _ route: inout Route
  ) {
    mergeInPlace(value, wideValue, post, range, portion, &route)
  }

  /// Walks in the frame of the caller.
  @inline(__always)
  func mergeInPlace<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post,
    _ range: ClosedRange<UInt64>,
    _ portion: Portion, _ route: inout Route
  ) {
    while true {
      let first = route.all.nextID
      let second = route.about.nextID
      let third = route.wide.nextID
      let next = min(first, second, third, route.wideAbout.nextID)
      if next > range.upperBound { return }
      if next == first {
        call(&route.all, next, value, post, portion)
      } else if next == second {
        call(&route.about, next, value, post, portion)
      } else if next == third {
        if let wideValue {
          call(&route.wide, next, wideValue.value, post, portion)
        } else {
          call(&route.wide, next, value, post, portion)
        }
      } else {
        call(&route.wideAbout, next, value, post, portion)
      }
    }
  }

  /// Calls `body` with each observer of a list that has not ended and whose identifier is in `range`.
  private func forEach(
    _ range: ClosedRange<UInt64>, _ portion: Portion, _ start: Cursor,
    _ body: (AnyObserver, Registration) -> Void
  ) {
    var cursor = start
    cursor.skip(below: range.lowerBound)
    while !cursor.isAtEnd {
      let id = cursor.nextID
      if id > range.upperBound { return }
      let address = cursor.takeAddress()
      if address == 0 { continue }
      // SAFETY: as in `call`.
      unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
        guard portion.includes(observer), !observer.isEnded else { return }
        body(observer, Registration(list: cursor.listReference, id: id, counters: nil))
      }
    }
  }

  /// Calls `body` with each observer along a route that has not ended and whose identifier is in
  /// `range`.
  @inline(never)
  func forEachObserver(
    along lists: Route, _ range: ClosedRange<UInt64>, _ portion: Portion,
    _ body: (AnyObserver, Registration) -> Void
  ) {
    let section = enter()
    let route = lists.reread
    settle(section)
    for place in Route.places { forEach(range, portion, route[place], body) }
    exit(section)
  }

  /// Posts to the observers of one topic and to those of any topic, by the shortest path.
  ///
  /// It does so only if all of them are called here and the source's events have no observer.
  ///
  /// - Parameters:
  ///   - topic: The topic, or `nil` if the post may reach only `wide`.
  ///   - wide: The observers of any topic, which receive `wideValue`.
  ///   - limit: The newest registration that may be reached, from before the lists were asked.
  /// - Returns: Whether that was the case; if not, no observer has been called.
  @inline(__always)
  func postInPlace<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: Wide, _ post: borrowing Post, to topic: Topic?,
    wide: ObserverList, _ limit: UInt64
  ) -> Bool {
    if isWatched { return false }
    let section = enter(upTo: limit)
    var own = Cursor()
    // SAFETY: the center keeps both lists, and the poster keeps the center.
    unsafe topic?.list._withUnsafeGuaranteedRef {
      own = unsafe Cursor(Unmanaged.passUnretained($0))
    }
    var any = unsafe Cursor(Unmanaged.passUnretained(wide))
    let isInPlace = !own.hasGroups && !any.hasGroups
    if isInPlace {
      settle(section)
      var (first, second) = (own.nextID, any.nextID)
      while min(first, second) <= section.watermark {
        if first < second {
          let last = min(second &- 1, section.watermark)
          first = callRun(&own, first, upTo: last, value, post)
        } else {
          let last = min(first &- 1, section.watermark)
          second = callRun(&any, second, upTo: last, wideValue, post)
        }
      }
    }
    exit(section)
    return isInPlace
  }

  /// Calls the observers of one list that registered before the next observer of another.
  ///
  /// - Returns: The next identifier in the list.
  @inline(__always)
  private func callRun<Value>(
    _ cursor: inout Cursor, _ first: UInt64, upTo last: UInt64, _ value: Value,
    _ post: borrowing Post
  ) -> UInt64 {
    var id = first
    repeat {
      call(&cursor, id, value, post, .everyone)
      id = cursor.nextID
    } while id <= last
    return id
  }

  /// Checks the next registration, and calls its observer.
  @inline(__always)
  private func call<Value>(
    _ cursor: inout Cursor, _ id: UInt64, _ value: Value, _ post: borrowing Post,
    _ portion: Portion
  ) {
    let address = cursor.takeAddress()
    if address == 0 { return }
    // SAFETY: the post is announced and `id` is at or below its upper bound, so that the observer
    // is kept.
    unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
      reach(.willCheck)
      // The common case, in as few steps as there can be: what the other needs is prepared there.
      if _fastPath(portion.callsPlainly && observer.isPlain) {
        reach(.willCall)
        do {
          try observer.callPlainly(value)
        } catch {
          handle(error, of: observer, id, in: cursor.listReference, post)
        }
      } else {
        // SAFETY: the list is kept as the cursor is; to retain it would slow every thread that posts.
        unsafe cursor.list.unsafelyUnwrapped._withUnsafeGuaranteedRef {
          callCarefully(observer, id, in: $0, value, post, portion)
        }
      }
    }
  }

  /// Calls an observer that needs more than the value, or that may not be called.
  // Not specialized: it is long, and no part of the common case.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  private func callCarefully<Value>(
    _ observer: AnyObserver, _ id: UInt64, in list: ObserverList, _ value: Value,
    _ post: borrowing Post, _ portion: Portion
  ) {
    guard portion.includes(observer) else { return }
    let claim = observer.claim()
    if claim == .skip { return callSkipped(observer, id, in: list, value, post) }
    // An observer with a place of its own is called there.
    if portion.callsPlainly || observer.hasArrival {
      reach(.willCall)
      do {
        try observer.call(value, post, id, in: list)
      } catch {
        handle(error, of: observer, id, in: list, post)
      }
    } else {
      let registration = Registration(list: list, id: id, counters: observer.details?.counters)
      callReported(observer, registration, post) {
        try observer.call(value, post, id, in: list)
      }
    }
    if claim == .callAndEnd { end(Registration(list: list, id: id, counters: nil)) }
  }

  /// Makes a call, and reports it if the events have an observer.
  @inline(never)
  private func callReported(
    _ observer: AnyObserver, _ registration: Registration, _ post: borrowing Post,
    _ call: () throws -> Void
  ) {
    let reported = begin(observer, registration, post)
    reach(.willCall)
    do {
      try reported.around(call)
    } catch {
      handle(error, of: observer, registration.id, in: registration.list, post)
    }
    end(reported)
  }

  /// Calls what waits at the place that an observer sent `value` to, if it has not ended.
  ///
  /// The delivery ends when this returns, or when the returned call ends.
  ///
  /// - Returns: The call, if it is to be made in a task.
  func arrive<Value>(
    _ value: Value, _ post: borrowing Post, at id: UInt64, in list: ObserverList
  ) -> PreparedCall? {
    var call: PreparedCall?
    let section = enter()
    let entries = list.entries
    settle(section)
    let address = entries.flatMap { entries in
      entries.index(of: id).map { entries.address(at: $0) }
    }
    if let address, address != 0 {
      // SAFETY: as in `call`.
      unsafe ObserverList.observer(at: address)._withUnsafeGuaranteedRef { observer in
        reach(.willCheck)
        let claim = observer.claimArrival()
        if claim == .skip {
          call = arriveSkipped(observer, value, post, at: id, in: list)
          return
        }
        call = callArrival(observer, value, post, at: id, in: list)
        if claim == .callAndEnd { end(Registration(list: list, id: id, counters: nil)) }
      }
    }
    exit(section)
    if call == nil { post.tracker?.end() }
    return call
  }

  /// Calls what waits at the place that an observer sent `value` to, in the context of the post.
  func callArrival<Value>(
    _ observer: AnyObserver, _ value: Value, _ post: borrowing Post, at id: UInt64,
    in list: ObserverList
  ) -> PreparedCall? {
    var prepared: PreparedCall?
    let call = begin(observer, Registration(list: list, id: id, counters: nil), post)
    reach(.willCall)
    post.context.restore {
      do {
        prepared = try call.around { try observer.callArrival(value, post, id, in: list) }
      } catch {
        handle(error, of: observer, id, in: list, post)
      }
    }
    end(call)
    return prepared
  }

  /// Skips an observer that has ended or is paused.
  ///
  /// An observer of a state that has missed something is called when it resumes.
  @_optimize(size)
  @inline(never)
  private func callSkipped<Value>(
    _ observer: AnyObserver, _ id: UInt64, in list: ObserverList, _ value: Value,
    _ post: borrowing Post
  ) {
    let registration = { Registration(list: list, id: id, counters: observer.details?.counters) }
    guard hasResumed(observer) else {
      if !observer.isEnded { note(.skipped, of: post, observer, registration()) }
      return
    }
    if observer.hasArrival {
      // It only sends the value on.
      do {
        try observer.call(value, post, id, in: list)
      } catch {
        handle(error, of: observer, id, in: list, post)
      }
    } else {
      callReported(observer, registration(), post) {
        try observer.call(value, post, id, in: list)
      }
    }
  }

  /// Skips an observer at the place to which the value was sent.
  ///
  /// - Returns: The call, if it is to be made in a task.
  @_optimize(size)
  @inline(never)
  private func arriveSkipped<Value>(
    _ observer: AnyObserver, _ value: Value, _ post: borrowing Post, at id: UInt64,
    in list: ObserverList
  ) -> PreparedCall? {
    if hasResumed(observer) {
      return callArrival(observer, value, post, at: id, in: list)
    }
    if !observer.isEnded {
      note(.skipped, of: post, observer, Registration(list: list, id: id, counters: nil))
    }
    return nil
  }

  /// Notes that a paused observer of a state misses something.
  ///
  /// - Returns: Whether it has just resumed, and is to be called after all.
  @_optimize(size)
  private func hasResumed(_ observer: AnyObserver) -> Bool {
    if observer.isEnded || observer.details?.onResume == nil { return false }
    return !observer.noteMiss()
  }

  /// The observer of a registration, unless it has ended.
  @inline(never)
  func observer(of registration: Registration) -> AnyObserver? {
    withObserver(of: registration) { $0 }
  }
}
