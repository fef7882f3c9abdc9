import Campanile

/// Collects the properties that are read while a key path is evaluated.
///
/// Key paths cannot be taken apart. So they are not: the getters report themselves, and what was
/// read is what is followed.
///
/// One collector serves one evaluation, over and over. It knows what was read the time before: as long
/// as the same is read again, a read is a comparison, and nothing is looked up or allocated.
///
/// Touched by the thread that evaluates; its calls do not overlap.
final class ReadCollector: Scope {
  /// A property that was read, and which of its changes it was read after.
  struct Read {
    let property: ObservedProperty
    var revision: UInt
    /// Whether the value that was read is that of the revision, and no newer one.
    var isExact = false
  }

  /// What is collected, in one place: each access to a property of an object is checked at run time.
  private struct State {
    private static let scanLimit = 16

    /// What has been read, and after it what was read the time before and may come.
    var reads: [Read] = []
    private var count = 0
    /// Whether other properties were read than the time before.
    private(set) var isOther = true
    /// The properties of `reads`, once there are too many to look through.
    private var known: Set<ObjectIdentifier> = []
    private var isOpen = false

    mutating func takeExpected(_ subject: AnyObject, _ keyPath: AnyKeyPath) -> Bool {
      guard isOpen, count < reads.count else { return false }
      let property = reads[count].property
      guard property.path.object == ObjectIdentifier(keyPath),
        property.subject.id == ObjectIdentifier(subject),
        // Another object may have come to its address.
        !property.subject.hasEnded
      else { return false }
      // If another one turns out to be read, this revision is older than it need be, and all is read again.
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

  /// Whether properties are left out that nobody has asked about: nobody need do so for this.
  let isOfKnown: Bool
  /// Whether nothing is collected: it stands for the reading of an old value.
  private let isSilent: Bool

  init(isOfKnown: Bool = false, isSilent: Bool = false) {
    self.isOfKnown = isOfKnown
    self.isSilent = isSilent
  }

  override var collector: ReadCollector? { self }

  /// Takes in a read of the property that is expected next, if it is that.
  ///
  /// - Returns: Whether it is.
  func takeExpected(_ subject: AnyObject, _ keyPath: AnyKeyPath) -> Bool {
    // Of old values several threads may be reading one, with one collector: its state is not touched.
    !isSilent && state.takeExpected(subject, keyPath)
  }

  func add(_ property: ObservedProperty) {
    add(property, property.revision, isExact: false)
  }

  func add(_ property: ObservedProperty, _ revision: UInt, isExact: Bool) {
    if isSilent { return }
    state.add(Read(property: property, revision: revision, isExact: isExact))
  }

  /// Runs `body`, and takes in the properties that it reads, each once, in the order of the reads.
  func collect<Result>(_ body: () -> Result) -> Result {
    state.begin()
    defer { state.end() }
    return runInside(body)
  }

  /// Returns what was read.
  func take() -> [Read] { state.reads }

  /// What was read, if it is not what was read the time before.
  func takeNew() -> [Read]? {
    let state = state
    return state.isOther ? state.reads : nil
  }

  /// The revision of the only property that was read, if that was read with its value.
  var exactRevision: UInt? {
    let reads = state.reads
    return reads.count == 1 && reads[0].isExact ? reads[0].revision : nil
  }

  /// Takes in what was read by another collector.
  func expect(_ reads: [Read]) { state.reads = reads }
}
