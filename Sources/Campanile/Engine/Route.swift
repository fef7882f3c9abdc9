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

/// A value as observers of any topic receive it; made once for a post, if there are any.
///
/// A word. The value stays where the post has it, on the stack, until the post returns.
@safe struct WildcardValue<Wildcard: Sendable> {
  // SAFETY: the poster keeps the value in place for as long as this and its copies live.
  private let place: UnsafePointer<Wildcard>

  private init(at place: UnsafePointer<Wildcard>) { unsafe self.place = place }

  /// Calls `body` with a value that stays in place meanwhile.
  @inline(__always)
  static func with(_ value: Wildcard, _ body: (WildcardValue) -> Void) {
    unsafe withUnsafePointer(to: value) { body(unsafe WildcardValue(at: $0)) }
  }

  var value: Wildcard {
    @inline(__always) unsafeAddress { unsafe place }
  }
}

extension WildcardValue<Never> {
  /// No value, for a post that no observer of any topic receives.
  static var absent: WildcardValue? { nil }
}
