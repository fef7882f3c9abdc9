/// Changes that are told as one.
///
/// ```swift
/// KVOTransaction.perform {
///   player.title = "Aria"
///   player.level = 0.4
/// }
/// ```
public enum KVOTransaction {
  /// Runs `body`, and tells each observer once what has changed in it.
  ///
  /// The change has the first old and the final new value, and names all properties of the observed
  /// object that changed. It is told when the outermost transaction ends, on this thread, in the
  /// order of the first changes, also if `body` throws: what it changed before stays changed. An
  /// observer that asked for `.prior` is called before its first change.
  ///
  /// A transaction is about all objects that this thread changes meanwhile, and about no other
  /// thread's changes: those are told meanwhile, and transactions of other threads when they end,
  /// with the value as it is by then. `withObservationTracking` is not part of it.
  ///
  /// - Returns: What `body` returns.
  public static func perform<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if Scope.isAnyOpen, Scope.current?.transaction?.isOpen == true { return try body() }
    let transaction = Transaction()
    let result = Scope.with(transaction) {
      () -> Swift.Result<Result, Failure> in
      do throws(Failure) {
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    transaction.close()
    return try result.get()
  }
}
