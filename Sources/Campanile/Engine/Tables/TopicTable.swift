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

  /// The list of a type, if it was ever observed here, for a post that counts no reference to it.
  @inline(__always)
  func topic(of type: any Any.Type) -> Topic? {
    unsafe map.object(for: Self.key(type)).map { unsafe Topic($0) }
  }

  /// The list of a type, made if there is none.
  func makeList(
    of type: any Any.Type, _ registry: ObserverRegistry, _ held: borrowing ObserverRegistry.Held
  ) -> TopicList {
    if let topic = topic(of: type) { return unsafe topic.list.takeUnretainedValue() }
    let list = TopicList(registry: registry, valueType: type)
    map.insert(Self.key(type), list, held)
    return list
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
  init(_ list: Unmanaged<TopicList>) { unsafe self.list = list }

  /// Whether nobody observes messages about any subject.
  @inline(__always)
  var isEmpty: Bool { unsafe list._withUnsafeGuaranteedRef { $0.isEmpty } }

  /// Whether messages about some subject are observed.
  @inline(__always)
  var hasSubjects: Bool { unsafe list._withUnsafeGuaranteedRef { $0.hasSubjects } }
}

extension ObserverRegistry {
  /// Posts to the observers of a topic about any subject.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Topic, upTo limit: UInt64
  ) {
    // SAFETY: topics live as long as the center, and the poster keeps the center.
    unsafe topic.list._withUnsafeGuaranteedRef { self.post(value, post, to: $0, upTo: limit) }
  }
}
