/// Several changes that are reported as one.
///
/// ```swift
/// KVOTransaction.perform {
///   player.title = "Aria"
///   player.level = 0.4
/// }
/// ```
public enum KVOTransaction {
  /// Runs `body`, and calls each observer once for all changes that `body` has made.
  ///
  /// The change has the value before the transaction and the value at its end, and names the
  /// properties on the path that changed. Observers are called when the outermost transaction ends,
  /// even if `body` throws. A transaction covers this thread's changes of objects that stay in one
  /// isolation. Objects that any thread may change report theirs at once, so change several of
  /// their values together with ``KVORegistrar/update(_:_:in:_:)``.
  ///
  /// - Returns: The result of `body`.
  public static func perform<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if Scope.isAnyOpen, Scope.current?.transaction != nil { return try body() }
    let transaction = Transaction()
    defer { transaction.close() }
    return try Scope.with(transaction, body)
  }
}
