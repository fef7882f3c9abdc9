import Campanile
public import Synchronization

/// The context of the code that runs now: an evaluation, a transaction, an edit of a collection.
///
/// A scope belongs to the thread that opened it, and not to a task.
@usableFromInline
class Scope {
  /// The collector of the properties that are read.
  var collector: ReadCollector? { outerCollector }
  private final let outerCollector: ReadCollector?
  /// The transaction whose end changes wait for.
  private(set) final var transaction: Transaction?
  /// The edit of a collection that is in progress.
  private(set) final var edit: CollectionEdit?

  init(
    _ collector: ReadCollector? = nil, _ transaction: Transaction? = nil,
    _ edit: CollectionEdit? = nil
  ) {
    outerCollector = collector
    self.transaction = transaction
    self.edit = edit
  }

  /// The scope of the calling code.
  static var current: Scope? {
    // Nothing but a scope opens one.
    isAnyOpen ? CallingThread.scope.map { known($0, as: Scope.self) } : nil
  }

  /// The number of open scopes, on all threads.
  @usableFromInline static let openCount = Atomic<Int>(0)

  /// Whether any thread has an open scope; most code checks only this.
  @inlinable static var isAnyOpen: Bool { openCount.load(ordering: .relaxed) != 0 }

  /// Runs `body` as a part of a transaction.
  static func with<Result, Failure: Error>(
    _ transaction: Transaction, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try Scope(current?.collector, transaction, current?.edit).run(body)
  }

  /// Runs `body` as an edit of a collection.
  static func with(_ edit: CollectionEdit, _ body: () -> Void) {
    Scope(current?.collector, current?.transaction, edit).run(body)
  }

  /// Runs observers: their reads and changes are not part of the evaluation or edit that led here.
  @inline(__always)
  static func withObservers<Result>(_ body: () -> Result) -> Result {
    guard let outer = current, outer.collector != nil || outer.edit != nil else { return body() }
    return Scope(nil, outer.transaction).run(body)
  }

  /// Runs `body` with this scope, inside the current transaction and edit.
  final func runInside<Result>(_ body: () -> Result) -> Result {
    guard let outer = Self.current, outer.transaction != nil || outer.edit != nil else {
      return run(body)
    }
    let before = (transaction, edit)
    (transaction, edit) = (outer.transaction, outer.edit)
    defer { (transaction, edit) = before }
    return run(body)
  }

  private final func run<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    Self.openCount.wrappingAdd(1, ordering: .relaxed)
    defer { Self.openCount.wrappingSubtract(1, ordering: .relaxed) }
    return try CallingThread.within(self, body)
  }
}
