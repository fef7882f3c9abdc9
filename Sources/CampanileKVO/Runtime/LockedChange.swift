/// The values before and after a change, as the class found them under its lock.
final class ValuesOfChange<Value> {
  /// The number of the change of the property, counted as values are stored.
  let number: UInt
  let old: Value
  let new: Value

  init(number: UInt, old: Value, new: Value) {
    self.number = number
    self.old = old
    self.new = new
  }
}

/// One change of a property that a class makes under its own lock.
///
/// `make` runs under that lock: it copies, counts and queues, and runs no code except that of the
/// class. The replaced value is kept until `end`, which is called outside the lock, and delivers.
struct LockedChange<Value: Sendable> {
  private let property: ObservedProperty?
  /// Whether the table has another property for the key path, or will have.
  var isRetired: Bool { property?.isRetired == true }
  private let announced: ObservedProperty.KnownChange?
  private var values: ValuesOfChange<Value>?

  /// - Parameter property: The property, if it has been observed.
  init(of property: ObservedProperty?) {
    self.property = property
    announced = property?.beginKnown()
    if announced == nil { property?.willChange(isShared: true) }
  }

  mutating func make(_ value: inout Value, _ body: (inout Value) -> Void) {
    guard let property, let announced else { return body(&value) }
    let old = value
    body(&value)
    values = property.store(announced) { ValuesOfChange(number: $0, old: old, new: value) }
  }

  /// Delivers the change, or leaves it to the delivering thread.
  consuming func end() {
    if announced != nil { property?.tellStored() } else { property?.didChange(isShared: true) }
  }
}

/// Changes in the order in which they were stored.
struct StoredChanges {
  var events = Fifo<ObservedProperty.Event>()
  /// Whether a thread delivers them.
  var isTelling = false

  /// The next event to deliver.
  ///
  /// If it is `nil`, the delivery has ended.
  mutating func next() -> ObservedProperty.Event? {
    let event = events.popFirst()
    isTelling = event != nil
    return event
  }
}
