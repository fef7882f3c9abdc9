import Campanile
public import Synchronization

/// What the code that runs now is part of: an evaluation, a transaction, an edit of a collection.
///
/// A scope is bound to the thread that opened it. A task that was made in it inherits the value,
/// and finds that it is none of its business.
struct Scope: Sendable {
  /// Who wants to know which properties are read.
  var collector: ReadCollector?
  /// What changes are to wait for.
  var transaction: Transaction?
  /// What is being done to a collection.
  var edit: CollectionEdit?
  private var thread: UInt = 0

  @TaskLocal private static var stored = Scope()

  /// The scope of the calling code.
  static var current: Scope {
    if !isAnyOpen { return Scope() }
    let stored = stored
    return stored.thread == SourceRegistry.currentThread ? stored : Scope()
  }

  /// Whether any thread has a scope open; what most code asks, and nothing further.
  static var isAnyOpen: Bool { OpenScopes.count.load(ordering: .relaxed) != 0 }

  /// Has the transaction that the calling code is part of take in that a property has changed.
  static func note(_ path: @autoclosure () -> KVOPath, of object: AnyObject) {
    if let transaction = current.transaction { transaction.note(path(), of: object) }
  }

  /// Runs `body` in the scope that `change` makes of the current one.
  static func with<Result>(
    _ change: (inout Scope) -> Void, _ body: () throws -> Result
  ) rethrows -> Result {
    var scope = current
    scope.thread = SourceRegistry.currentThread
    change(&scope)
    OpenScopes.count.wrappingAdd(1, ordering: .relaxed)
    defer { OpenScopes.count.wrappingSubtract(1, ordering: .relaxed) }
    return try $stored.withValue(scope, operation: body)
  }

  /// Runs observers: what they read and change is no part of what led to them.
  static func withObservers(_ body: () -> Void) {
    if !isAnyOpen { return body() }
    with(
      { scope in
        scope.collector = nil
        scope.edit = nil
      }, body)
  }
}

/// How many scopes are open, on all threads.
@usableFromInline
enum OpenScopes {
  @usableFromInline static let count = Atomic<Int>(0)
}
