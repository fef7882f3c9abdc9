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
  fileprivate func list(of type: any Any.Type) -> Unmanaged<TopicList>? {
    unsafe map.object(for: Self.key(type))
  }

  /// The list for observers of a type, about any subject; made if there is none.
  func destination(
    of type: any Any.Type, _ registry: ObserverRegistry, _ held: borrowing ObserverRegistry.Held
  ) -> Destination {
    unsafe list(of: type)?._withUnsafeGuaranteedRef { .list($0) }
      ?? .list(makeList(of: type, registry, held))
  }

  /// The list for observers of a type about `subject`; made if there is none.
  func destination(
    of type: any Any.Type, about subject: SubjectName, _ registry: ObserverRegistry,
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

  /// The live registrations that a message of a type reaches.
  func registrations(
    of type: any Any.Type, about subject: SubjectName?, _ held: borrowing ObserverRegistry.Held
  ) -> [LiveRegistration] {
    unsafe list(of: type)?.takeUnretainedValue().registrations(about: subject, held) ?? []
  }

  /// Every list.
  func lists(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] { map.objects(held) }
}

/// A message as observers of any message receive it; made once for a post, if there are any.
///
/// A word. The message stays where the post has it, on the stack, until the post returns.
@safe struct WideValue {
  // SAFETY: the poster keeps the message in place for as long as this and its copies live.
  private let place: UnsafePointer<MessageCenter.PostedMessage>

  /// - Parameter place: Where the message stays until the post returns.
  init(at place: UnsafePointer<MessageCenter.PostedMessage>) { unsafe self.place = place }

  var message: MessageCenter.PostedMessage {
    unsafeAddress { unsafe place }
  }
}

/// Finds the observers of a message.
extension MessageCenter {
  /// Posts to the lists of the message's type, and to the observers of any message.
  @inline(__always)
  func find<M: Message>(_ message: M, _ post: borrowing Post) {
    // Before the lists are read: an observer that registers after this is reached through none of them.
    let limit = registry.now
    let topic = unsafe topics.list(of: M.self)
    // Methods of the center itself, for the calls to be the last thing that this one does.
    if wide.isEmpty {
      guard let topic = unsafe topic else {
        if registry.isWatched { registry.noteUnheard(message, post) }
        return
      }
      // SAFETY: topics live as long as the center.
      let isDone = unsafe topic._withUnsafeGuaranteedRef { topic in
        if post.subjectID != nil && topic.hasSubjects { return false }
        if registry.isHeard(topic) { deliver(message, post, to: topic, limit) }
        return true
      }
      if isDone { return }
    }
    if post.subjectID != nil { return unsafe postAlongRoute(message, post, topic, limit) }
    unsafe postWidely(message, post, topic, limit)
  }

  @inline(never)
  private func deliver<M: Message>(
    _ message: M, _ post: borrowing Post, to list: ObserverList, _ limit: UInt64
  ) {
    registry.post(message, post, to: list, in: 0...limit)
  }

  /// Posts a message without a subject to its topic and to the observers of any message.
  @inline(never)
  private func postWidely<M: Message>(
    _ message: M, _ post: borrowing Post, _ topic: Unmanaged<TopicList>?, _ limit: UInt64
  ) {
    let posted = PostedMessage(message: message, subject: nil)
    let wide = unsafe Unmanaged.passUnretained(wide)
    if unsafe registry.postInPlace(message, posted, post, to: topic, wide: wide, limit) { return }
    unsafe postAlongRoute(message, post, topic, limit)
  }

  /// Posts to all observers that the message reaches, wherever they run.
  @inline(never)
  private func postAlongRoute<M: Message>(
    _ message: M, _ post: borrowing Post, _ topic: Unmanaged<TopicList>?, _ limit: UInt64
  ) {
    let wide = unsafe Unmanaged.passUnretained(wide)
    if self.wide.isEmpty {
      return unsafe registry.post(message, post, to: topic, wide: wide, nil, limit)
    }
    unsafe withUnsafePointer(to: PostedMessage(message: message, subject: post.subjectID)) {
      let wideValue = unsafe WideValue(at: $0)
      unsafe registry.post(message, post, to: topic, wide: wide, wideValue, limit)
    }
  }
}

extension ObserverRegistry {
  /// Posts to the observers of one topic and to those of any.
  ///
  /// - Parameters:
  ///   - topic: The topic, which the caller retains, or `nil` if the post may reach only `wide`.
  ///   - wide: The observers of any topic, which receive `wideValue`; if that is `nil`, they
  ///     receive nothing.
  ///   - limit: The newest registration that may be reached, from before the lists were asked.
  @inline(never)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Unmanaged<TopicList>?,
    wide: Unmanaged<ObserverList>, _ wideValue: WideValue?, _ limit: UInt64
  ) {
    if isWatched {
      unsafe postWatched(value, post, to: topic, wide: wide, wideValue, limit)
    } else {
      unsafe self.post(value, post, to: topic, wide: wide, wideValue, limit, .everyone)
    }
  }

  /// Posts, and reports the post and each call.
  @inline(never)
  private func postWatched<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Unmanaged<TopicList>?,
    wide: Unmanaged<ObserverList>, _ wideValue: WideValue?, _ limit: UInt64
  ) {
    let post = notePosted(value, of: Value.self, post)
    unsafe self.post(value, post, to: topic, wide: wide, wideValue, limit, .everyoneChecked)
    notePostReturned(Value.self, post)
  }

  @inline(__always)
  private func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Unmanaged<TopicList>?,
    wide: Unmanaged<ObserverList>, _ wideValue: WideValue?, _ limit: UInt64,
    _ portion: Portion
  ) {
    let section = enter(upTo: limit)
    var route = Route()
    if let topic = unsafe topic {
      // SAFETY: the caller keeps the topic; what is found in it is kept by the announcement.
      unsafe topic._withUnsafeGuaranteedRef { topic in
        route.find(post.subjectID, in: topic)
      }
    }
    // SAFETY: the source keeps its list.
    if wideValue != nil { route.wide = unsafe route.read(wide) }
    deliver(value, wideValue, post, portion, section, &route)
  }
}
