import Campanile
public import Synchronization

/// What the code that runs now is part of: an evaluation, a transaction, an edit of a collection.
///
/// A scope belongs to the thread that opened it, and to no task.
final class Scope {
  /// Who wants to know which properties are read.
  private(set) var collector: ReadCollector?
  /// What changes are to wait for.
  private(set) var transaction: Transaction?
  /// What is being done to a collection.
  private(set) var edit: CollectionEdit?

  private init(in outer: Scope?) {
    collector = outer?.collector
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

  /// Runs `body` with its reads collected.
  static func with<Result>(_ collector: ReadCollector?, _ body: () throws -> Result) rethrows
    -> Result
  {
    let scope = Scope(in: current)
    scope.collector = collector
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
    scope.collector = nil
    scope.edit = nil
    scope.run(body)
  }

  private func run<Result>(_ body: () throws -> Result) rethrows -> Result {
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
