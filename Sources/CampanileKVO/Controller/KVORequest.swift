/// The request of one call to `observe`, independent of its form and types.
struct KVORequest {
  let path: KVOPath
  var wishes: ObserverWishes
  /// Compares the boxes of two values, if changes to equal values are left out.
  let areEqual: ((AnyObject, AnyObject) -> Bool)?
  /// Whether the value is read on the main actor alone.
  let isOnMain: Bool
  /// Whether any thread may change the object.
  let isForAnyThread: Bool
  /// Whether the observers of the key path share one evaluation.
  ///
  /// Closures cannot be compared. So what a closure reads is filed under the key path of the object
  /// itself, and is not shared.
  let isShared: Bool
  let file: StaticString
  let line: UInt

  @inline(__always)
  init<Value>(
    _ path: AnyKeyPath, _ options: KVOChange<Value>.Options, isOnMain: Bool = false,
    isForAnyThread: Bool = false, isShared: Bool = true, _ file: StaticString, _ line: UInt
  ) {
    self.path = KVOPath(path)
    wishes = options.names
    areEqual = options.areEqual
    self.isOnMain = isOnMain
    self.isForAnyThread = isForAnyThread
    self.isShared = isShared
    self.file = file
    self.line = line
  }
}

extension Optional<any Actor> {
  /// Whether it is the isolation of the main actor.
  var isMain: Bool { self === MainActor.shared }
}
