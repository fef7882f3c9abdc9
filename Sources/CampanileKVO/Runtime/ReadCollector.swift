import Campanile

/// Collects the properties that are read while a key path is evaluated.
///
/// A key path cannot be decomposed.
///
/// So the getters report themselves, and the properties that they report are followed.
///
/// One collector serves one evaluation repeatedly. It remembers the previous reads. As long as the
/// same properties are read again, a read is a comparison, without a look-up or an allocation.
///
/// Used by the thread that evaluates. Its calls do not overlap.
final class ReadCollector: Scope {
  /// A property that was read, and the number of its changes at that time.
  struct Read {
    let property: ObservedProperty
    var revision: UInt
    /// Whether the value that was read is exactly that of the revision, and no newer one.
    var isExact = false
  }

  /// The collected reads.
  ///
  /// They are in one struct because each access to a property of an object is checked at run time.
  private struct State {
    private static let scanLimit = 16

    /// The current reads, followed by the previous ones that may be read again.
    var reads: [Read] = []
    private var count = 0
    /// Whether the reads differ from the previous ones.
    private(set) var isOther = true
    /// The properties of `reads`, once they are too many for a linear search.
    private var known: Set<ObjectIdentifier> = []
    private var isOpen = false

    mutating func takeExpected(_ subject: AnyObject, _ keyPath: AnyKeyPath) -> Bool {
      guard isOpen, count < reads.count else { return false }
      let property = reads[count].property
      guard property.path.object == ObjectIdentifier(keyPath),
        property.subject.id == ObjectIdentifier(subject),
        // Another object may have been allocated at its address.
        !property.subject.hasEnded
      else { return false }
      // If another property is read after all, this revision is older than necessary, and all is
      // read again.
      count += 1
      return true
    }

    mutating func add(_ read: Read) {
      guard isOpen else { return }
      if count < reads.count {
        if reads[count].property === read.property {
          reads[count] = read
          count += 1
          return
        }
        if contains(read.property) { return }
        reads.removeSubrange(count...)
      } else if contains(read.property) {
        return
      }
      isOther = true
      if !known.isEmpty { known.insert(ObjectIdentifier(read.property)) }
      reads.append(read)
      count += 1
    }

    private mutating func contains(_ property: ObservedProperty) -> Bool {
      if count < Self.scanLimit {
        return reads[..<count].contains { $0.property === property }
      }
      if known.isEmpty { known = Set(reads[..<count].map { ObjectIdentifier($0.property) }) }
      return known.contains(ObjectIdentifier(property))
    }

    mutating func begin() {
      count = 0
      if !known.isEmpty { known = [] }
      isOther = false
      isOpen = true
    }

    mutating func end() {
      isOpen = false
      if count < reads.count {
        reads.removeSubrange(count...)
        isOther = true
      }
    }
  }

  private var state = State()

  /// Whether properties that have not been observed are left out.
  let isOfKnown: Bool
  /// Whether nothing is collected, because an old value is read.
  private let isSilent: Bool

  init(isOfKnown: Bool = false, isSilent: Bool = false) {
    self.isOfKnown = isOfKnown
    self.isSilent = isSilent
  }

  override var collector: ReadCollector? { self }

  /// Records a read of the property that is expected next.
  ///
  /// - Returns: Whether it was that property.
  func takeExpected(_ subject: AnyObject, _ keyPath: AnyKeyPath) -> Bool {
    // Several threads may read old values with one silent collector, so its state is not accessed.
    !isSilent && state.takeExpected(subject, keyPath)
  }

  func add(_ property: ObservedProperty) {
    add(property, property.revision, isExact: false)
  }

  func add(_ property: ObservedProperty, _ revision: UInt, isExact: Bool) {
    if isSilent { return }
    state.add(Read(property: property, revision: revision, isExact: isExact))
  }

  /// Runs `body`, and records the properties that it reads, each once, in the order of the reads.
  func collect<Result>(_ body: () -> Result) -> Result {
    state.begin()
    defer { state.end() }
    return runInside(body)
  }

  /// The reads.
  func take() -> [Read] { state.reads }

  /// The reads, if they differ from the previous ones.
  func takeNew() -> [Read]? {
    let state = state
    return state.isOther ? state.reads : nil
  }

  /// The revision of the only property that was read, if it was read together with its value.
  var exactRevision: UInt? {
    let reads = state.reads
    return reads.count == 1 && reads[0].isExact ? reads[0].revision : nil
  }

  /// Continues with the reads of another collector.
  func expect(_ reads: [Read]) { state.reads = reads }
}
