/// Several changes that are reported as one.
///
/// ```swift
/// KVOTransaction.perform {
///   player.title = "Aria"
///   player.level = 0.4
/// }
/// ```
public enum KVOTransaction {
  /// Runs `body`, and calls each observer once for everything that `body` has changed.
  ///
  /// The change has the first old and the final new value. It names all properties of the observed
  /// object that changed. In a class with a ``KVORegistrar``, those are the properties that changed
  /// since an object was first observed. Observers are called when the outermost transaction ends,
  /// on this thread, in the order of the first changes. In a class that sets through its registrar,
  /// what an observer changes so is delivered after the change that called the observer. If `body`
  /// throws, observers are called too: what it changed before stays changed. An observer that asked
  /// for `.prior` is called before its first change.
  ///
  /// A transaction covers the changes of all objects that this thread makes meanwhile. Changes of
  /// other threads are reported as they are made. Transactions of other threads are reported when
  /// they end, with the value at that time. A transaction inside another change, as in the closure
  /// of a change in place, is reported with that change. `withObservationTracking` is not part of a
  /// transaction.
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
