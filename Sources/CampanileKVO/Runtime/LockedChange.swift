/// The values before and after a change, as the class that made it found them under its lock.
final class ValuesOfChange<Value> {
  /// Which change of the property it is, counted as they were stored.
  let number: UInt
  let old: Value
  let new: Value

  init(number: UInt, old: Value, new: Value) {
    self.number = number
    self.old = old
    self.new = new
  }
}

/// One change of a property that a class makes under a lock of its own.
///
/// `make` runs under that lock: it copies, counts and queues, and runs no code but that of the class.
/// What the change replaces is kept until `end`, which is called outside, and tells.
struct LockedChange<Value: Sendable> {
  private let property: ObservedProperty?
  private let announced: ObservedProperty.KnownChange?
  private var values: ValuesOfChange<Value>?

  /// - Parameter property: The property, if it has been asked about.
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

  /// Tells the change, or leaves that to the thread that tells.
  consuming func end() {
    if announced != nil { property?.tellStored() } else { property?.didChange(isShared: true) }
  }
}

/// Changes in the order in which they were stored.
struct StoredChanges {
  var events = Fifo<ObservedProperty.Event>()
  /// Whether a thread tells them.
  var isTelling = false

  /// The next one to be told; `nil` if there is none, which ends the telling.
  mutating func next() -> ObservedProperty.Event? {
    let event = events.popFirst()
    isTelling = event != nil
    return event
  }
}
