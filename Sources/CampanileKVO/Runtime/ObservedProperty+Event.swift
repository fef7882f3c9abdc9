import Campanile
import Synchronization

extension ObservedProperty {
  /// The object that the property belongs to, as far as others need to know it.
  final class Subject: Sendable {
    let id: ObjectIdentifier
    private let ended = Atomic<Bool>(false)

    init(_ id: ObjectIdentifier) { self.id = id }

    /// Whether the object's deinit has begun.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }
    func end() { ended.store(true, ordering: .releasing) }
  }

  /// Who makes a change: the code of one thread, between two calls of observers.
  ///
  /// What it does to several properties may be one change. What an observer does is another one.
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
    /// Who announces changes by hand, on whatever threads.
    static let hand = Maker(thread: 0, depth: 0)

    private static let changes = Atomic<UInt>(0)

    /// A change that is known with its values: it has a maker of its own, since another thread may tell it
    /// after the one that made it has gone on to the next.
    static func known() -> Maker {
      Maker(thread: changes.wrappingAdd(1, ordering: .relaxed).newValue, depth: -1)
    }
    var isKnown: Bool { depth < 0 }
  }

  /// One step of one change.
  struct Event {
    /// Whose change it is.
    let maker: Maker
    /// What is about to be done to a collection, if that is the change.
    let edit: AnnouncedEdit?
    /// At the end, the box of the values before and after, if the class handed them over.
    var values: AnyObject?
    /// The evaluation whose getters made a change that is told later, or by another thread.
    var collector: ReadCollector?
    /// At the end, the box of the value before, if the setter has kept that.
    var old: AnyObject?
    /// At the end, how many changes of the property had begun and not ended.
    var openCount: UInt = 0
  }
}
