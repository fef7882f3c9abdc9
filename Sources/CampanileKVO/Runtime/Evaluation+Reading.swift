import Campanile
import Synchronization

/// Reading the value of the key path.
extension Evaluation {
  /// Runs getters.
  ///
  /// Changes that the getters make are not changes of the value.
  func asReader<Value>(_ read: () -> Value) -> Value {
    if !request.isForAnyThread {
      readerCount.wrappingAdd(1, ordering: .relaxed)
      defer { readerCount.wrappingSubtract(1, ordering: .relaxed) }
      return read()
    }
    let thread = SourceRegistry.currentThread
    readers.withLock { $0.append(thread) }
    readerCount.wrappingAdd(1, ordering: .acquiringAndReleasing)
    defer {
      readerCount.wrappingSubtract(1, ordering: .acquiringAndReleasing)
      readers.withLock { readers in
        if let index = readers.lastIndex(of: thread) { readers.remove(at: index) }
      }
    }
    return read()
  }

  /// Runs getters for a value that is not delivered to all observers.
  ///
  /// The properties that they read are not followed. The scope tells the changes of the getters from
  /// those that observers make meanwhile.
  func asOldReader<Value>(_ read: () -> Value) -> Value {
    Scope.with(oldReader) { asReader(read) }
  }

  /// Runs getters for the value before a change.
  ///
  /// Only for a value that no observer is given, or compares: what observers change meanwhile need not
  /// be told apart then.
  func asReaderBeforeChange<Value>(_ read: () -> Value) -> Value {
    if !ObservedProperty.isAnyHandedOver && !Scope.isAnyOpen { return asReader(read) }
    return asOldReader(read)
  }

  /// Whether a change was made by getters that this evaluation ran, whatever thread delivers it.
  func isOwn(_ collector: ReadCollector?) -> Bool {
    guard let collector else { return false }
    return collector === self.collector || collector === oldReader
  }

  /// Whether the calling thread runs the getters of the path.
  var isReading: Bool {
    if readerCount.load(ordering: .acquiring) == 0 { return false }
    // Other threads may change objects that a main-actor key path leads to.
    if !request.isForAnyThread { return !request.isOnMain || SourceRegistry.isOnMain }
    let thread = SourceRegistry.currentThread
    return readers.withLock { $0.contains(thread) }
  }

  /// Whether a getter of the path is running.
  var isBeingRead: Bool { readerCount.load(ordering: .relaxed) != 0 }

  /// Whether the key path is one property of the root, so that it never reads other properties.
  var isDirect: Bool { direct.load(ordering: .acquiring) }

  /// Whether the class provides the values of the property of a direct key path.
  var handsOver: Bool { isDirect && directProperty.load()?.handsOver == true }

  /// The number of the newest change of the property of a direct key path; otherwise 0.
  var revision: UInt { isDirect ? directProperty.load()?.revision ?? 0 : 0 }

  /// Reads the value of a direct key path.
  ///
  /// - Returns: The value, and the number of the change that stored it.
  func readExactly<Value>(
    with collector: ReadCollector, _ read: () -> Value
  ) -> (value: Value, number: UInt) {
    guard let property = directProperty.load() else { return (read(), 0) }
    // A getter that does not read value and number under the lock is called again. After the last
    // attempt, a value that is newer than its number is delivered twice.
    var attempt = 1
    while true {
      let before = property.revision
      let value = collector.collect(read)
      let reads = collector.take()
      let isExact = reads.count == 1 && reads[0].isExact && reads[0].property === property
      if isExact || property.revision == before || attempt == Self.attemptLimit {
        return (value, isExact ? reads[0].revision : before)
      }
      attempt += 1
    }
  }

  /// Reads the value of a direct key path, to be delivered.
  func readToTell<Value>(_ read: () -> Value) -> Value {
    let (value, number) = readExactly(with: collector, read)
    readNumber = number
    return value
  }

  /// Records that the value read last is being delivered.
  ///
  /// The changes that it includes are not delivered again.
  func raiseFloor() {
    if let number = readNumber { floor.store(number, ordering: .relaxed) }
    readNumber = nil
  }

  /// The newest change that has been delivered with a value that was read, if the class hands its
  /// values over; otherwise 0.
  var included: UInt { handsOver ? floor.load(ordering: .relaxed) : 0 }

  /// Whether a change is included in a value that was read, and so has been delivered.
  func isTold(_ number: UInt) -> Bool { number <= floor.load(ordering: .relaxed) }
}
