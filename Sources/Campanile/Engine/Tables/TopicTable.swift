import Synchronization

/// The lists of a center by message type.
///
/// Lists live as long as the center, so a post may look here before it announces itself. Types are
/// identified by the address of their metadata.
struct TopicTable: ~Copyable, Sendable {
  private let map = AddressMap<TopicList>(capacity: 8)

  @inline(__always)
  private static func key(_ type: any Any.Type) -> UInt {
    UInt(bitPattern: ObjectIdentifier(type))
  }

  /// The list of a type, if it was ever observed here.
  @inline(__always)
  private func list(of type: any Any.Type) -> Unmanaged<TopicList>? {
    unsafe map.object(for: Self.key(type))
  }

  /// The list of a type, if it was ever observed here, for a post that counts no reference to it.
  @inline(__always)
  func topic(of type: any Any.Type) -> Topic? {
    unsafe list(of: type).map { unsafe Topic($0) }
  }

  /// The list for observers of a type about `subject`, or about any; made if there is none.
  func destination(
    of type: any Any.Type, about subject: SubjectName?, _ registry: ObserverRegistry,
    _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) -> Destination {
    let topic = unsafe list(of: type) ?? .passUnretained(makeList(of: type, registry, held))
    return unsafe topic._withUnsafeGuaranteedRef {
      $0.destination(about: subject, &garbage, held)
    }
  }

  /// The list of a type, made if there is none.
  func makeList(
    of type: any Any.Type, _ registry: ObserverRegistry, _ held: borrowing ObserverRegistry.Held
  ) -> TopicList {
    if let list = unsafe list(of: type)?.takeUnretainedValue() { return list }
    let list = TopicList(registry: registry, valueType: type)
    map.insert(Self.key(type), list, held)
    return list
  }

  /// The lists that a message of a type reaches, without their parts.
  func parts(
    of type: any Any.Type, about subject: SubjectName?, _ held: borrowing ObserverRegistry.Held
  ) -> [ObserverList] {
    unsafe list(of: type)?.takeUnretainedValue().parts(about: subject, held) ?? []
  }

  /// Every list, without its parts.
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    map.objects(held).flatMap { $0.parts(held) }
  }
}

/// The list of a message type, as a plain word; valid as long as the center.
@safe struct Topic {
  // SAFETY: topics live as long as the center, and the poster keeps the center.
  let list: Unmanaged<TopicList>

  @inline(__always)
  fileprivate init(_ list: Unmanaged<TopicList>) { unsafe self.list = list }

  /// Whether nobody observes messages about any subject.
  @inline(__always)
  var isEmpty: Bool { unsafe list._withUnsafeGuaranteedRef { $0.isEmpty } }

  /// Whether messages about some subject are observed.
  @inline(__always)
  var hasSubjects: Bool { unsafe list._withUnsafeGuaranteedRef { $0.hasSubjects } }
}

/// A value as observers of any topic receive it; made once for a post, if there are any.
///
/// A word. The value stays where the post has it, on the stack, until the post returns.
@safe struct WideValue<Wide: Sendable> {
  // SAFETY: the poster keeps the value in place for as long as this and its copies live.
  private let place: UnsafePointer<Wide>

  private init(at place: UnsafePointer<Wide>) { unsafe self.place = place }

  /// Calls `body` with a value that stays in place meanwhile.
  @inline(__always)
  static func with(_ value: Wide, _ body: (WideValue) -> Void) {
    unsafe withUnsafePointer(to: value) { body(unsafe WideValue(at: $0)) }
  }

  var value: Wide {
    @inline(__always) unsafeAddress { unsafe place }
  }
}

extension WideValue<Never> {
  /// No value, for a post that no observer of any topic receives.
  static var absent: WideValue? { nil }
}

extension ObserverRegistry {
  /// Posts to the observers of a topic about any subject.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Topic, in range: ClosedRange<UInt64>
  ) {
    // SAFETY: topics live as long as the center, and the poster keeps the center.
    unsafe topic.list._withUnsafeGuaranteedRef { self.post(value, post, to: $0, in: range) }
  }

  /// Posts to the observers of one topic and to those of any.
  ///
  /// - Parameters:
  ///   - topic: The topic, or `nil` if the post may reach only `wide`.
  ///   - wide: The observers of any topic, which receive `wideValue`; if that is `nil`, they
  ///     receive nothing.
  ///   - limit: The newest registration that may be reached, from before the lists were asked.
  @inline(never)
  func post<Value, Wide: Sendable>(
    _ value: Value, _ post: borrowing Post, to topic: Topic?,
    wide: ObserverList, _ wideValue: WideValue<Wide>?, _ limit: UInt64
  ) {
    if isWatched {
      postWatched(value, post, to: topic, wide: wide, wideValue, limit)
    } else {
      self.post(value, post, to: topic, wide: wide, wideValue, limit, .everyone)
    }
  }

  /// Posts, and reports the post and each call.
  @inline(never)
  private func postWatched<Value, Wide: Sendable>(
    _ value: Value, _ post: borrowing Post, to topic: Topic?,
    wide: ObserverList, _ wideValue: WideValue<Wide>?, _ limit: UInt64
  ) {
    let post = notePosted(value, of: Value.self, post)
    self.post(value, post, to: topic, wide: wide, wideValue, limit, .everyoneChecked)
    notePostReturned(Value.self, post)
  }

  @inline(__always)
  private func post<Value, Wide: Sendable>(
    _ value: Value, _ post: borrowing Post, to topic: Topic?,
    wide: ObserverList, _ wideValue: WideValue<Wide>?, _ limit: UInt64,
    _ portion: Portion
  ) {
    let section = enter(upTo: limit)
    var route = Route()
    // SAFETY: the center keeps the topic, and the announcement what is found in it.
    unsafe topic?.list._withUnsafeGuaranteedRef { route.find(post.subjectID, in: $0) }
    // SAFETY: the source keeps its list.
    if wideValue != nil { route.wide = unsafe route.read(Unmanaged.passUnretained(wide)) }
    deliver(value, wideValue, post, portion, section, &route)
  }
}
