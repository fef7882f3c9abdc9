/// The calling thread, and the part of the work that its code belongs to.
///
/// Safe access to the thread's record.
package enum CallingThread {
  /// The identifier of the thread, which no other living thread has; never 0.
  package static var id: UInt { ThreadRecord.currentID }

  // SAFETY: in these properties, the record is the thread's own, and no other thread uses the word.

  /// The number of the reported post whose observer the thread runs; 0 if there is none.
  static var post: UInt64 {
    get { unsafe ThreadRecord.current.pointee.post }
    set { unsafe ThreadRecord.current.pointee.post = newValue }
  }

  /// The time of the calls that are nested in the reported call which the thread makes.
  static var nestedNanoseconds: UInt64 {
    get { unsafe ThreadRecord.current.pointee.nestedNanoseconds }
    set { unsafe ThreadRecord.current.pointee.nestedNanoseconds = newValue }
  }

  /// Runs `body` as part of a reported post.
  ///
  /// - Parameter number: The number of the post, or 0.
  package static func asPart(of number: UInt64, _ body: () -> Void) {
    let outer = post
    post = number
    body()
    post = outer
  }

  /// Runs `body` with `scope` as the scope of the calling thread's code.
  package static func within<Scope: AnyObject, Result, Failure: Error>(
    _ scope: Scope, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let record = unsafe ThreadRecord.current
    let outer = unsafe record.pointee.scope
    unsafe record.pointee.scope = Unmanaged.passUnretained(scope)
    // SAFETY: the record is the thread's own, and `body` cannot leave the thread.
    defer {
      unsafe record.pointee.scope = outer
      // Kept until `body` has returned.
      extendLifetime(scope)
    }
    return try body()
  }

  /// The scope that the calling thread's code is part of, if any.
  package static var scope: AnyObject? {
    // SAFETY: the code that stored it keeps it until it restores the previous one.
    unsafe ThreadRecord.current.pointee.scope?.takeUnretainedValue()
  }
}
