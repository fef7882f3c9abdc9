import Campanile
public import Synchronization

/// What the code that runs now is part of: an evaluation, a transaction, an edit of a collection.
///
/// A scope belongs to the thread that opened it, and to no task.
class Scope {
  /// Who wants to know which properties are read.
  var collector: ReadCollector? { outerCollector }
  private final var outerCollector: ReadCollector?
  /// What changes are to wait for.
  private(set) final var transaction: Transaction?
  /// What is being done to a collection.
  private(set) final var edit: CollectionEdit?

  init() {}

  /// A scope that goes on with what is outside it.
  private init(in outer: Scope?) {
    outerCollector = outer?.collector
    transaction = outer?.transaction
    edit = outer?.edit
  }

  /// The scope of the calling code.
  static var current: Scope? { isAnyOpen ? SourceRegistry.scope(Scope.self) : nil }

  /// Whether any thread has a scope open; what most code asks, and nothing further.
  static var isAnyOpen: Bool { OpenScopes.count.load(ordering: .relaxed) != 0 }

  /// Has the transaction that the calling code is part of take in that a property has changed.
  static func note(_ path: @autoclosure () -> KVOPath, of object: AnyObject) {
    if let transaction = current?.transaction { transaction.note(path(), of: object) }
  }

  /// Runs `body` with its reads collected, perhaps while another thread has the same collector.
  static func with<Result>(_ collector: ReadCollector, _ body: () throws -> Result) rethrows
    -> Result
  {
    let scope = Scope(in: current)
    scope.outerCollector = collector
    return try scope.run(body)
  }

  /// Runs `body` as a part of a transaction.
  static func with<Result>(_ transaction: Transaction, _ body: () throws -> Result) rethrows
    -> Result
  {
    let scope = Scope(in: current)
    scope.transaction = transaction
    return try scope.run(body)
  }

  /// Runs `body` as an edit of a collection.
  static func with<Result>(_ edit: CollectionEdit, _ body: () throws -> Result) rethrows -> Result {
    let scope = Scope(in: current)
    scope.edit = edit
    return try scope.run(body)
  }

  /// Runs observers: what they read and change is no part of what led to them.
  static func withObservers(_ body: () -> Void) {
    guard let outer = current, outer.collector != nil || outer.edit != nil else { return body() }
    let scope = Scope(in: outer)
    scope.outerCollector = nil
    scope.edit = nil
    scope.run(body)
  }

  /// Runs `body` with this as its scope, inside the transaction and the edit that go on.
  final func runInside<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let outer = Self.current, outer.transaction != nil || outer.edit != nil else {
      return try run(body)
    }
    let before = (transaction, edit)
    (transaction, edit) = (outer.transaction, outer.edit)
    defer { (transaction, edit) = before }
    return try run(body)
  }

  private final func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    OpenScopes.count.wrappingAdd(1, ordering: .relaxed)
    defer { OpenScopes.count.wrappingSubtract(1, ordering: .relaxed) }
    return try SourceRegistry.within(self, body)
  }
}

/// How many scopes are open, on all threads.
@usableFromInline
enum OpenScopes {
  @usableFromInline static let count = Atomic<Int>(0)
}
