import Synchronization

/// The observers of one message type: this list, of those who hear a message whatever it is about,
/// and the lists of those who observe one subject.
final class TopicList: ObserverList, @unchecked Sendable {
  let subjects: SubjectIndex

  init(registry: ObserverRegistry, valueType: any Any.Type) {
    subjects = SubjectIndex(registry: registry, valueType: valueType)
    super.init(registry: registry, topic: .init(value: valueType, subject: nil))
  }

  /// What stands about a subject, for a post that has announced itself.
  @inline(__always)
  func find(_ subject: ObjectIdentifier) -> SubjectEntry? {
    // SAFETY: the topic keeps its index. A post counts no references: two threads that post to one
    // source must not write to a common line.
    unsafe Unmanaged.passUnretained(subjects)._withUnsafeGuaranteedRef { $0.find(subject) }
  }

  /// The live registrations, those about one subject included.
  override var registrations: [LiveRegistration] {
    super.registrations + subjects.registrations(in: self)
  }
}

/// The lists of a center by message type.
///
/// Lists live as long as the center: a post may look here before it announces itself. Types are
/// known by the address of their metadata.
struct TopicTable: ~Copyable, Sendable {
  private let map = AddressMap<TopicList>(capacity: 8)

  @inline(__always)
  private static func key(_ type: any Any.Type) -> UInt {
    UInt(bitPattern: ObjectIdentifier(type))
  }

  /// The list of a type, if anybody ever observed it here.
  @inline(__always)
  fileprivate func list(of type: any Any.Type) -> Unmanaged<TopicList>? {
    unsafe map.object(for: Self.key(type))
  }

  /// Where those who observe a type register, whatever a message is about; made if there is none.
  ///
  /// Under the registry's lock.
  func destination(of type: any Any.Type, _ registry: ObserverRegistry) -> Destination {
    unsafe list(of: type)?._withUnsafeGuaranteedRef { .list($0) }
      ?? .list(makeList(of: type, registry))
  }

  /// Where those who observe a type about `subject` register; made if there is none.
  ///
  /// Under the registry's lock.
  func destination(
    of type: any Any.Type, about subject: AnyObject, _ registry: ObserverRegistry
  ) -> Destination {
    unsafe list(of: type)?._withUnsafeGuaranteedRef { .subject(subject, $0) }
      ?? .subject(subject, makeList(of: type, registry))
  }

  /// The list of a type, made if there is none.
  ///
  /// Under the registry's lock.
  func makeList(of type: any Any.Type, _ registry: ObserverRegistry) -> TopicList {
    if let list = unsafe list(of: type)?.takeUnretainedValue() { return list }
    let list = TopicList(registry: registry, valueType: type)
    map.insert(Self.key(type), list)
    return list
  }

  /// Every list.
  ///
  /// Under the registry's lock.
  var lists: [ObserverList] { map.objects }
}

/// How a message finds its observers.
extension MessageCenter {
  /// Posts to the lists of the message's type, and to those who hear any message.
  @inline(__always)
  func find<M: Message>(_ message: M, _ post: borrowing Post) {
    let topic = unsafe topics.list(of: M.self)
    // Methods of the center itself, for the calls to be the last thing that this one does.
    if wide.isEmpty {
      guard let topic = unsafe topic else {
        if registry.onEvent != nil { registry.note(.posted, M.self) }
        return
      }
      // SAFETY: topics live as long as the center.
      let isDone = unsafe topic._withUnsafeGuaranteedRef { topic in
        if post.subjectID != nil && !topic.subjects.isEmpty { return false }
        if registry.isHeard(topic) { deliver(message, post, to: topic) }
        return true
      }
      if isDone { return }
    }
    unsafe postWidely(message, post, topic)
  }

  @inline(never)
  private func deliver<M: Message>(_ message: M, _ post: borrowing Post, to list: ObserverList) {
    registry.post(message, post, to: list)
  }

  /// Posts where more than one list may be reached.
  @inline(never)
  private func postWidely<M: Message>(
    _ message: M, _ post: borrowing Post, _ topic: Unmanaged<TopicList>?
  ) {
    let subject = post.subjectID
    unsafe registry.post(message, post, to: topic, wide: Unmanaged.passUnretained(wide)) {
      WideValue(PostedMessage(message: message, subject: subject))
    }
  }
}

extension ObserverRegistry {
  /// Posts to the observers of one topic, which the caller keeps, and to those of any.
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: TopicList?, wide: ObserverList?,
    _ wideValue: () -> WideValue
  ) {
    let topic = unsafe topic.map { unsafe Unmanaged.passUnretained($0) }
    let wide = unsafe wide.map { unsafe Unmanaged.passUnretained($0) }
    unsafe self.post(value, post, to: topic, wide: wide, wideValue)
  }

  /// Posts to the observers of one topic and to those of any.
  ///
  /// - Parameters:
  ///   - topic: The topic, which the caller keeps, or `nil` if only `wide` may hear.
  ///   - wide: The observers of whatever topic; they are given what `wideValue` makes.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Unmanaged<TopicList>?,
    wide: Unmanaged<ObserverList>?, _ wideValue: () -> WideValue
  ) {
    note(.posted, Value.self)
    let visit = enter()
    var route = Route()
    if let topic = unsafe topic {
      // SAFETY: the caller keeps the topic; what is found in it is kept by the announcement.
      unsafe topic._withUnsafeGuaranteedRef { topic in
        if !topic.isEmpty { unsafe route.all = Cursor(Unmanaged.passUnretained(topic)) }
        if let subject = post.subjectID { route.find(subject, in: topic) }
      }
    }
    var made: WideValue?
    // SAFETY: the source keeps its list.
    if let wide = unsafe wide, unsafe wide._withUnsafeGuaranteedRef({ !$0.isEmpty }) {
      unsafe route.wide = Cursor(wide)
      made = wideValue()
    }
    deliver(value, made, post, visit, route)
  }
}
