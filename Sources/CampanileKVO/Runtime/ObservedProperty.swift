import Campanile
import Synchronization

/// One property of one object that has been asked about: the list of who follows it.
final class ObservedProperty: Sendable {
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
  }

  /// One step of one change.
  struct Event {
    enum Phase {
      case willChange
      case didChange
    }
    let phase: Phase
    /// Whose change it is.
    let maker: Maker
    /// What is being done to a collection, if that is the change.
    let edit: CollectionEdit?
  }

  let subject: Subject
  let path: KVOPath
  let events: SourceList<Event>
  private let changes = Atomic<UInt>(0)
  /// How many announcements by hand are open.
  private let depth = Locked(0)

  init(_ keyPath: AnyKeyPath, of subject: Subject, _ registry: SourceRegistry) {
    self.subject = subject
    path = KVOPath(keyPath)
    events = registry.makeList(of: Event.self)
  }

  /// Counts the changes.
  var revision: UInt { changes.load(ordering: .sequentiallyConsistent) }

  // MARK: Changes

  func willChange() { willChange(.current) }
  func didChange() { didChange(.current) }

  private func willChange(_ maker: Maker) {
    if events.isEmpty { return }
    post(.willChange, maker)
  }

  private func didChange(_ maker: Maker) {
    changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
    if events.isEmpty { return }
    post(.didChange, maker)
  }

  private func post(_ phase: Event.Phase, _ maker: Maker) {
    let edit = Scope.isAnyOpen ? Scope.current.edit?.claim(by: self) : nil
    Scope.withObservers { events.post(Event(phase: phase, maker: maker, edit: edit)) }
  }

  /// Begins a change that is announced by hand.
  ///
  /// - Returns: whether it is the outermost one.
  func beginByHand() -> Bool {
    let isOutermost = depth.withLock { depth in
      depth += 1
      return depth == 1
    }
    if isOutermost { willChange(.hand) }
    return isOutermost
  }

  /// Ends a change of `object` that is announced by hand.
  ///
  /// - Returns: whether it was the outermost one.
  func endByHand(noting object: AnyObject) -> Bool {
    let isOutermost = depth.withLock { depth in
      if depth == 0 { return false }
      depth -= 1
      return depth == 0
    }
    if isOutermost {
      if Scope.isAnyOpen { Scope.note(path, of: object) }
      didChange(.hand)
    }
    return isOutermost
  }
}
