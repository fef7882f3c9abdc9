/// Where code runs, for sources in other modules of this package.
extension SourceRegistry {
  /// The identifier of the calling thread, which no other living thread has; never 0.
  package static var currentThread: UInt { ThreadRecord.currentID }

  /// The number of the reported post that the calling code is part of; 0 if there is none.
  package static var currentPost: UInt64 { ObserverRegistry.currentPost }

  /// Runs `body` as part of a reported post.
  ///
  /// - Parameter post: The number of the post, or 0.
  package static func asPart(of post: UInt64, _ body: () -> Void) {
    // SAFETY: the record is the thread's own, and `body` cannot leave the thread.
    let record = unsafe ThreadRecord.current
    let outer = unsafe record.pointee.post
    unsafe record.pointee.post = post
    body()
    unsafe record.pointee.post = outer
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

  /// How many posts the calling thread is inside of.
  package static var postDepth: Int { unsafe ThreadRecord.current.pointee.depth }

  /// Whether the calling code runs on the main queue or the main actor.
  package static var isOnMain: Bool { QueueTarget.main.isCurrent }

  /// Lets half a microsecond pass.
  package static func linger() { Platform.linger() }

  /// Writes a line to standard error.
  package static func warn(_ line: String) { Platform.writeToStandardError(line) }

  /// A registration that has ended, of no source.
  package static var endedRegistration: Registration {
    SourceRegistry().makeList(of: Never.self).ended
  }

  /// Passes an observer's error to `onError`, unless it is the request to end its registration.
  package static func report(
    _ error: any Error, of valueType: any Any.Type, file: StaticString, line: UInt,
    to onError: (ObserverFailure) -> Void
  ) throws {
    if error is ObservationIsOver { throw error }
    let location = CallSite(file: file, line: line)
    onError(ObserverFailure(error: error, valueType: valueType, location: location))
  }

  /// The error that an observer throws to end its registration.
  package static var endOfObservation: any Error { ObservationIsOver() }
}
