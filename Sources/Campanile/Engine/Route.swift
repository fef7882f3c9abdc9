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
  /// Asked before the reservation is narrowed.
  @inline(__always)
  var hasGroups: Bool { unsafe list?._withUnsafeGuaranteedRef { $0.hasGroups } ?? false }

  @inline(__always)
  var isAtEnd: Bool { rest == 0 }

  /// The next identifier, or the greatest number at the end.
  @inline(__always)
  var nextID: UInt64 {
    if isAtEnd { return .max }
    // SAFETY: `rest` was counted from what was published.
    // Pairs with `append`: the observer is in place.
    return unsafe next.unsafelyUnwrapped.pointee.number.load(ordering: .acquiring)
  }

  /// Reads nothing of `list` except the entry of `id`, unless that has ended.
  init(_ list: ObserverList, only id: UInt64) {
    self.init(unread: list)
    guard let entries = list.entries, let index = entries.index(of: id) else { return }
    unsafe (next, rest) = unsafe (entries.base + index, 1)
  }

  /// The next observer, or 0; `nextID` has shown that there is an entry.
  @inline(__always)
  mutating func takeAddress() -> UInt {
    // SAFETY: as above.
    let entry = unsafe next.unsafelyUnwrapped
    unsafe next = unsafe entry + 1
    rest &-= 1
    // Pairs with `append` and `unlink`: the observer, or the tombstone.
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
  var wildcard = Cursor()
  /// The observers of any topic about the subject.
  var wildcardAbout = Cursor()

  /// The registration that the route is for, in `all`, if it is for one alone.
  var onlyID: UInt64?
  /// Whether one of these lists has observers that run elsewhere.
  private(set) var hasGroups = false

  /// The cursor with this number.
  subscript(index: Int) -> Cursor {
    get { index == 0 ? all : index == 1 ? about : index == 2 ? wildcard : wildcardAbout }
    set {
      switch index {
      case 0: all = newValue
      case 1: about = newValue
      case 2: wildcard = newValue
      default: wildcardAbout = newValue
      }
    }
  }
  static let indices = 0..<4

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
  mutating func findWildcard(_ subject: ObjectIdentifier?, in topic: TopicList) {
    if !topic.isEmpty { wildcard = unsafe read(Unmanaged.passUnretained(topic)) }
    if let subject, let list = unsafe topic.find(subject) { wildcardAbout = unsafe read(list) }
  }

  /// The only list; `nil` if there are none or several.
  var only: Cursor? {
    var only: Cursor?
    for index in Self.indices where unsafe self[index].list != nil {
      if only != nil { return nil }
      only = self[index]
    }
    return only
  }

  /// The lists read again, by a post that has announced itself.
  var reread: Route {
    var route = self
    if let onlyID {
      route.all = Cursor(all.listReference, only: onlyID)
    } else {
      for index in Self.indices {
        if let list = unsafe self[index].list { route[index] = unsafe route.read(list) }
      }
    }
    return route
  }

  func forEach(_ body: (ObserverList) -> Void) {
    for index in Self.indices { unsafe self[index].list?._withUnsafeGuaranteedRef(body) }
  }
}
