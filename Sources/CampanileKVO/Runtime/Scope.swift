import Campanile
public import Synchronization

/// The context of the code that runs now: an evaluation, a transaction, an edit of a collection.
///
/// A scope belongs to the thread that opened it, and not to a task.
class Scope {
  /// The collector of the properties that are read.
  var collector: ReadCollector? { outerCollector }
  private final var outerCollector: ReadCollector?
  /// The transaction whose end changes wait for.
  private(set) final var transaction: Transaction?
  /// The edit of a collection that is in progress.
  private(set) final var edit: CollectionEdit?

  init() {}

  /// Creates a scope that inherits from the outer one.
  private init(in outer: Scope?) {
    outerCollector = outer?.collector
    transaction = outer?.transaction
    edit = outer?.edit
  }

  /// The scope of the calling code.
  static var current: Scope? {
    // Nothing but a scope opens one.
    isAnyOpen ? SourceRegistry.scope.map { known($0, as: Scope.self) } : nil
  }

  /// Whether any thread has an open scope.
  ///
  /// Most code checks only this.
  static var isAnyOpen: Bool { OpenScopes.count.load(ordering: .relaxed) != 0 }

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

  /// Runs observers, whose reads and changes are not part of the evaluation or the edit that led to
  /// their calls.
  static func withObservers<Result>(_ body: () -> Result) -> Result {
    guard let outer = current, outer.collector != nil || outer.edit != nil else { return body() }
    let scope = Scope(in: outer)
    scope.outerCollector = nil
    scope.edit = nil
    return scope.run(body)
  }

  /// Runs `body` with this scope, inside the current transaction and edit.
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

/// The number of open scopes, on all threads.
@usableFromInline
enum OpenScopes {
  @usableFromInline static let count = Atomic<Int>(0)
}
