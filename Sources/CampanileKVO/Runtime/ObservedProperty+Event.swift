import Campanile
import Synchronization

extension ObservedProperty {
  /// An evaluation, and its link to the property.
  struct Follower {
    let link: Link
    let evaluation: Evaluation
  }

  /// The object that the property belongs to: its identity, and whether it has died.
  final class Subject: Sendable {
    let id: ObjectIdentifier
    private let ended = Atomic<Bool>(false)

    init(_ id: ObjectIdentifier) { self.id = id }

    /// Whether the object's deinit has begun.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }
    func end() { ended.store(true, ordering: .releasing) }
  }

  /// The maker of a change: the code of one thread between two calls of observers.
  ///
  /// What one maker does to several properties may be one change. What an observer does is another
  /// change.
  struct Maker: Equatable {
    private let thread: UInt
    private let depth: Int

    private init(thread: UInt, depth: Int) {
      self.thread = thread
      self.depth = depth
    }

    /// The calling code.
    static var current: Maker {
      Maker(thread: SourceRegistry.currentThread, depth: SourceRegistry.postDepth)
    }
    /// The maker of all changes announced by hand, on any thread.
    static let hand = Maker(thread: 0, depth: 0)

    private static let changes = Atomic<UInt>(0)

    /// A change that is known with its values.
    ///
    /// Its maker is unique: another thread may deliver the change after the thread that made it has
    /// begun the next one.
    static func known() -> Maker {
      Maker(thread: changes.wrappingAdd(1, ordering: .relaxed).newValue, depth: -1)
    }
    var isKnown: Bool { depth < 0 }
  }

  /// The beginning or the end of one change.
  struct Event {
    /// The maker of the change.
    let maker: Maker
    /// The edit of a collection that is about to be made, if the change is an edit.
    let edit: AnnouncedEdit?
    /// At the end, the box of the values before and after, if the class provided them.
    var values: AnyObject?
    /// The collector of the evaluation whose getters made the change.
    ///
    /// The observers of the change run without it. A known change may be delivered later, or by
    /// another thread.
    var collector: ReadCollector?
    /// At the end, the box of the old value, if the setter has kept it.
    var old: AnyObject?
    /// At the end, the number of changes of the property that had begun and not ended.
    var openCount: UInt = 0
    /// At the end, the number of the change of the property.
    var number: UInt = 0
  }

  /// A change whose values the class provides, from its beginning until its value has been stored.
  struct KnownChange {
    let maker: Maker
    let edit: AnnouncedEdit?
    let collector: ReadCollector?
  }
}
