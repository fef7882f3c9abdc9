import Campanile
import Synchronization

/// Reading the value of the key path.
extension Evaluation {
  /// Runs getters: what they change themselves is no change of their value.
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

  /// The same for a value that is only looked at: nothing that is read is followed.
  func asOldReader<Value>(_ read: () -> Value) -> Value {
    if !ObservedProperty.isAnyHandedOver && !Scope.isAnyOpen { return asReader(read) }
    return Scope.with(oldReader) { asReader(read) }
  }

  /// Whether a change was made by getters that this evaluation ran, on whatever thread it is told.
  func isOwn(_ collector: ReadCollector?) -> Bool {
    guard let collector else { return false }
    return collector === self.collector || collector === oldReader
  }

  /// Whether the calling thread runs the getters on the path.
  var isReading: Bool {
    if readerCount.load(ordering: .acquiring) == 0 { return false }
    // Other threads may change what a main-actor key path leads to.
    if !request.isForAnyThread { return !request.isOnMain || SourceRegistry.isOnMain }
    let thread = SourceRegistry.currentThread
    return readers.withLock { $0.contains(thread) }
  }

  /// Whether a getter on the path is being run.
  var isBeingRead: Bool { readerCount.load(ordering: .relaxed) != 0 }

  /// Whether the key path is that of one property of the root, which cannot come to read others.
  var isDirect: Bool { direct.load(ordering: .acquiring) }

  /// Whether the class hands over values of the property of a direct key path.
  var handsOver: Bool { isDirect && directProperty.load()?.handsOver == true }

  /// The number of the newest change of the property of a direct key path; else 0.
  var revision: UInt { isDirect ? directProperty.load()?.revision ?? 0 : 0 }

  /// Reads the value of a direct key path.
  ///
  /// - Returns: The number of the change that stored it.
  func readExactly<Value>(
    with collector: ReadCollector, _ read: () -> Value
  ) -> (value: Value, number: UInt) {
    guard let property = directProperty.load() else { return (read(), 0) }
    // A getter that does not take the lock with the number is asked again, but not for ever: a value that
    // is newer than its number is told once more.
    var attempt = 1
    while true {
      let before = property.revision
      let value = collector.collect(read)
      let reads = collector.take()
      let isExact = reads.count == 1 && reads[0].isExact && reads[0].property === property
      if isExact || property.revision == before || attempt == 8 {
        return (value, isExact ? reads[0].revision : before)
      }
      attempt += 1
    }
  }

  /// Reads the value of a direct key path, to be told.
  func readToTell<Value>(_ read: () -> Value) -> Value {
    let (value, number) = readExactly(with: collector, read)
    readNumber = number
    return value
  }

  /// Takes in that the value which was read last is told: the changes that are part of it are not told any
  /// more.
  func raiseFloor() {
    if let number = readNumber { floor.store(number, ordering: .relaxed) }
    readNumber = nil
  }

  /// Whether a change is part of a value that was read, and so has been told with it.
  func isTold(_ number: UInt) -> Bool { number <= floor.load(ordering: .relaxed) }
}
