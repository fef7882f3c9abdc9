import Campanile

/// Collects the properties that are read while a key path is evaluated.
///
/// A key path cannot be decomposed, so the getters report themselves, and the properties that they
/// report are followed. One collector serves one evaluation repeatedly, and remembers the previous
/// reads. As long as the same properties are read again, a read is a comparison, without a look-up or
/// an allocation. Its calls do not overlap.
final class ReadCollector: Scope {
  /// A property that was read, and the number of its changes at that time.
  struct Read {
    let property: ObservedProperty
    var revision: UInt
    /// Whether the value that was read is exactly that of the revision, and no newer one.
    var isExact = false
  }

  private static let scanLimit = 16

  // Each of these is read or replaced as a whole: other accesses would be checked at run time.
  /// The current reads, followed by the previous ones that may be read again, while it collects.
  private(set) var reads: [Read] = []
  /// The number of current reads.
  private var count = 0
  /// Whether the reads differ from the previous ones.
  private var isOther = true
  /// The properties of the first reads, once they are too many for a linear search.
  private var known: Set<ObjectIdentifier> = []
  private var isOpen = false

  override var collector: ReadCollector? { self }

  /// Records a read if it is of the property that is expected next, and returns whether it is.
  func takeExpected(_ subject: AnyObject, _ keyPath: AnyKeyPath) -> Bool {
    guard isOpen, count < reads.count,
      reads[count].property.pathID == ObjectIdentifier(keyPath),
      reads[count].property.subject.id == ObjectIdentifier(subject),
      // Another object may have been allocated at its address.
      !reads[count].property.subject.hasEnded
    else { return false }
    // The revision stays old. That doesn't matter for a property that is followed already.
    count += 1
    return true
  }

  func add(_ property: ObservedProperty) {
    add(property, property.revision, isExact: false)
  }

  func add(_ property: ObservedProperty, _ revision: UInt, isExact: Bool) {
    guard isOpen else { return }
    let read = Read(property: property, revision: revision, isExact: isExact)
    if count < reads.count && reads[count].property === property {
      change { $0[count] = read }
    } else if contains(property) {
      return
    } else {
      change { reads in
        reads.removeSubrange(count...)
        reads.append(read)
      }
      isOther = true
    }
    count += 1
  }

  /// Counts a change that a getter has made of a property that it has read.
  func noteChange(of property: ObservedProperty) {
    guard isOpen, let place = reads[..<count].firstIndex(where: { $0.property === property }) else {
      return
    }
    change { $0[place].revision += 1 }
  }

  private func change(_ body: (inout [Read]) -> Void) {
    var reads = reads
    self.reads = []
    body(&reads)
    self.reads = reads
  }

  private func contains(_ property: ObservedProperty) -> Bool {
    if count < Self.scanLimit { return reads[..<count].contains { $0.property === property } }
    // Each property is read once, so these are all of the first ones. Only the later ones are added.
    if known.count < count {
      var known = known
      self.known = []
      for read in reads[known.count..<count] { known.insert(ObjectIdentifier(read.property)) }
      self.known = known
    }
    return known.contains(ObjectIdentifier(property))
  }

  /// Runs `body`, and records the properties that it reads, each once, in the order of the reads.
  func collect<Result>(_ body: () -> Result) -> Result {
    count = 0
    known = []
    isOther = false
    isOpen = true
    let result = runInside(body)
    isOpen = false
    if count < reads.count {
      reads = Array(reads[..<count])
      isOther = true
    }
    return result
  }

  /// The reads, if they differ from the previous ones.
  var newReads: [Read]? { isOther ? reads : nil }

  /// The revision of the only property that was read, if it was read together with its value.
  var exactRevision: UInt? {
    reads.count == 1 && reads[0].isExact ? reads[0].revision : nil
  }

  /// Continues with the reads of another collector.
  func expect(_ reads: [Read]) { self.reads = reads }
}
