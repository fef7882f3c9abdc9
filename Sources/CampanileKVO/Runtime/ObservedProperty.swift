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
    if Scope.isAnyOpen { Scope.current.transaction?.note(path, of: subject.id) }
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

  /// Ends a change that is announced by hand.
  ///
  /// - Returns: whether it was the outermost one.
  func endByHand() -> Bool {
    let isOutermost = depth.withLock { depth in
      if depth == 0 { return false }
      depth -= 1
      return depth == 0
    }
    if isOutermost { didChange(.hand) }
    return isOutermost
  }
}

/// The properties of one object that have been asked about.
///
/// Those who follow hold this and not the object, so that its end can be noticed, and nothing of a
/// dead object is needed to stop following it.
final class PropertyTable: Sendable {
  /// Protected by the lock.
  private struct State {
    private static let familiarLimit = 8

    private var properties: [AnyKeyPath: ObservedProperty] = [:]
    /// The first few key paths that were looked up, found or not.
    ///
    /// A key path literal of a class that is not generic is one object: it is known by identity, which
    /// takes a fraction of the time of hashing it.
    private var familiar: [(keyPath: AnyKeyPath, property: ObservedProperty?)] = []

    mutating func find(_ keyPath: AnyKeyPath) -> ObservedProperty? {
      for index in familiar.indices where familiar[index].keyPath === keyPath {
        return familiar[index].property
      }
      let property = properties[keyPath]
      if familiar.count < Self.familiarLimit { familiar.append((keyPath, property)) }
      return property
    }

    mutating func add(_ property: ObservedProperty, _ keyPath: AnyKeyPath) {
      properties[keyPath] = property
      for index in familiar.indices where familiar[index].keyPath == keyPath {
        familiar[index].property = property
      }
    }

    var lists: [SourceList<ObservedProperty.Event>] { properties.values.map(\.events) }
  }

  private let registry = SourceRegistry()
  let subject: ObservedProperty.Subject
  private let state = Locked(State())

  init(of subject: AnyObject) {
    self.subject = ObservedProperty.Subject(ObjectIdentifier(subject))
  }

  /// The property that the getter of `keyPath` reports, if it has been asked about.
  func known(_ keyPath: AnyKeyPath) -> ObservedProperty? {
    var property: ObservedProperty?
    state.update { property = $0.find(keyPath) }
    return property
  }

  /// The property that the getter of `keyPath` reports.
  func property(_ keyPath: AnyKeyPath) -> ObservedProperty {
    // Most are known.
    if let known = known(keyPath) { return known }
    return state.withLock { state in
      if let known = state.find(keyPath) { return known }
      let property = ObservedProperty(keyPath, of: subject, registry)
      state.add(property, keyPath)
      return property
    }
  }

  /// Ends what follows the object, in the object's deinit.
  func end() {
    subject.end()
    registry.finish(state.withLock { $0.lists })
  }
}
