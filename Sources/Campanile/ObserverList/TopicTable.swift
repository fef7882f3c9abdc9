import Synchronization

/// What a center knows of one message type.
final class Topic: Sendable {
  /// Observers of the type, whatever a message is about.
  let all: ObserverList
  /// Observers of messages about one subject.
  let subjects: SubjectIndex

  init(registry: ObserverRegistry, valueType: any Any.Type) {
    all = ObserverList(registry: registry, topic: .init(value: valueType, subject: nil))
    subjects = SubjectIndex(registry: registry, valueType: valueType)
  }

  var lists: [ObserverList] { [all] + subjects.lists }
}

/// The topics of a center by message type.
///
/// Topics and tables live as long as the center: a post may look here before it announces itself.
/// Types are known by the address of their metadata.
final class TopicTable: @unchecked Sendable {
  private let registry: ObserverRegistry
  private let table: Atomic<UInt>
  /// Every table there ever was, the newest last.
  ///
  /// Protected by the registry's lock.
  private var tables: [AddressTable<Topic>]

  init(registry: ObserverRegistry) {
    self.registry = registry
    let first = AddressTable<Topic>(capacity: 8, created: 0)
    tables = [first]
    table = Atomic(UInt(bitPattern: ObjectIdentifier(first)))
  }

  @inline(__always)
  private static func key(_ type: any Any.Type) -> UInt {
    UInt(bitPattern: ObjectIdentifier(type))
  }

  /// The topic of a type, if anybody ever observed it here.
  @inline(__always)
  fileprivate func topic(of type: any Any.Type) -> Unmanaged<Topic>? {
    let address = table.load(ordering: .acquiring)
    // SAFETY: `tables` keeps every table for as long as this object lives.
    let current = unsafe Unmanaged<AddressTable<Topic>>.fromOpaque(
      UnsafeRawPointer(bitPattern: address)!)
    return unsafe current._withUnsafeGuaranteedRef { unsafe $0.object(for: Self.key(type)) }
  }

  /// The topic of a type, made if there is none.
  ///
  /// Under the registry's lock.
  func makeTopic(of type: any Any.Type) -> Topic {
    if let topic = unsafe topic(of: type)?.takeUnretainedValue() { return topic }
    let topic = Topic(registry: registry, valueType: type)
    if !tables.last!.insert(Self.key(type), topic) {
      let topics = tables.last!.objects
      let new = AddressTable<Topic>(capacity: (topics.count + 1) * 4, created: registry.tick())
      for topic in topics + [topic] { _ = new.insert(Self.key(topic.all.topic.value), topic) }
      tables.append(new)
      table.store(UInt(bitPattern: ObjectIdentifier(new)), ordering: .sequentiallyConsistent)
    }
    return topic
  }

  /// Every list.
  ///
  /// Under the registry's lock.
  var lists: [ObserverList] { tables.last!.objects.flatMap(\.lists) }
}

/// How a message finds its observers.
extension MessageCenter {
  /// Posts to the lists of the message's type, and to those who hear any message.
  @inline(__always)
  func find<M: Message>(_ message: M, _ post: borrowing Post) {
    let topic = unsafe topics.topic(of: M.self)
    // Methods of the center itself, for the calls to be the last thing that this one does.
    if wide.isEmpty {
      guard let topic = unsafe topic else {
        if registry.onEvent != nil { registry.note(.posted, M.self) }
        return
      }
      // SAFETY: topics live as long as the center.
      let isDone = unsafe topic._withUnsafeGuaranteedRef { topic in
        if post.subject != nil && !topic.subjects.isEmpty { return false }
        if registry.isHeard(topic.all) { deliver(message, post, to: topic.all) }
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
    _ message: M, _ post: borrowing Post, _ topic: Unmanaged<Topic>?
  ) {
    registry.note(.posted, M.self)
    let subject = post.subject.map { ObjectIdentifier($0) }
    let visit = registry.enter()
    var route = Route()
    if let topic = unsafe topic {
      // SAFETY: topics live as long as the center; what is found in one is kept by the announcement.
      unsafe topic._withUnsafeGuaranteedRef { topic in
        if !topic.all.isEmpty {
          unsafe route.all = Cursor(Unmanaged.passUnretained(topic.all))
        }
        if let subject, !topic.subjects.isEmpty {
          unsafe route.about = topic.subjects.list(about: subject).map { unsafe Cursor($0) }
        }
      }
    }
    var wideValue: WideValue?
    if !wide.isEmpty {
      unsafe route.wide = Cursor(Unmanaged.passUnretained(wide))
      wideValue = WideValue(MessageCenter.PostedMessage(message: message, subject: subject))
    }
    registry.deliver(message, wideValue, post, visit, route)
  }
}
