import Campanile

/// What a controller observes, by object and key path.
///
/// Key paths may have arguments, whose `==` and `hash(into:)` are foreign code, and none of it runs in
/// here, under the controller's lock. An entry is found by its object. Whoever asks for one path
/// compares outside the lock. Of an object with many entries, the later ones are found by the hash of
/// their path too.
struct ObservationTable {
  final class Entry: Sendable {
    /// Told apart from a later object at the same address.
    let object: OwnerReference<AnyObject>
    let objectID: ObjectIdentifier
    let path: KVOPath
    let registration: Registration
    fileprivate let text: Text
    fileprivate let place: Place

    /// What descriptions say.
    struct Text: Sendable {
      let objectType: any Any.Type
      let wishes: ObserverWishes
      let file: StaticString
      let line: UInt
    }

    init(
      object: OwnerReference<AnyObject>, _ objectID: ObjectIdentifier, _ path: KVOPath,
      _ registration: Registration, _ text: Text, at place: Place
    ) {
      self.object = object
      self.objectID = objectID
      self.path = path
      self.registration = registration
      self.text = text
      self.place = place
    }

    private var living: AnyObject? { object.object }

    /// Whether the observation has not ended.
    ///
    /// Ask outside the lock: the answer may release the object.
    var isLive: Bool { registration.isActive && living != nil }

    /// Whether it is a live observation of this object, and not of an earlier one at its address.
    func isLive(of object: AnyObject) -> Bool { living === object && registration.isActive }

    var description: String {
      "\(text.objectType) \(path) \(text.wishes) (\(text.file):\(text.line))"
    }
  }

  /// Where an entry is to stand, and what the table knew when that was decided.
  struct Place {
    var additions = 0
    var moves = 0
    /// The hash of the path, of an object with many entries; else 0.
    var pathHash = 0
  }

  /// An entry, and how many had been added before.
  struct Slot: HasAddressKey {
    let number: Int
    let entry: Entry

    var addressKey: UInt { key(entry.objectID, entry.place.pathHash) }
  }

  private static func key(_ object: ObjectIdentifier, _ pathHash: Int) -> UInt {
    UInt(bitPattern: object) ^ (UInt(bitPattern: pathHash) << 4)
  }

  /// How many entries of one object are found by the object alone.
  private static let crowd = 16

  private var slots = AddressBuckets<Slot>()
  var count: Int { slots.count }
  private var purgeThreshold = 32
  /// The objects that have, or had, more than a crowd of entries.
  private var crowded: Set<ObjectIdentifier> = []
  private var additions = 0
  /// How often it has changed which objects are crowded, but for additions.
  private var moves = 0

  // MARK: Looking

  /// Where an entry of an object is to stand.
  ///
  /// - Returns: Whether the hash of its path counts too.
  func find(_ object: ObjectIdentifier, _ place: inout Place) -> Bool {
    place = Place(additions: additions, moves: moves)
    return isCrowded(object)
  }

  private func isCrowded(_ object: ObjectIdentifier) -> Bool {
    !crowded.isEmpty && crowded.contains(object)
  }

  /// The entries among which are those of an object, or of it and the hash of a path.
  func near(_ object: ObjectIdentifier, _ pathHash: Int = 0) -> [Slot] {
    slots[Self.key(object, pathHash)]
  }

  /// The entries, whether or not they have ended, oldest first.
  var all: [Entry] { slots.all.sorted { $0.number < $1.number }.map(\.entry) }

  // MARK: Changing

  /// Adds an entry.
  ///
  /// - Parameter isForced: Whether others may have come to its place since that was decided.
  /// - Returns: Whether it was added.
  mutating func add(_ entry: Entry, isForced: Bool) -> Bool {
    let place = entry.place
    if place.moves != moves { return false }
    let key = Self.key(entry.objectID, place.pathHash)
    var (late, same) = (0, 0)
    slots.forEach(key) { slot in
      if slot.number >= place.additions { late += 1 }
      if slot.entry.objectID == entry.objectID { same += 1 }
    }
    if !isForced && late > 0 { return false }
    slots.append(Slot(number: additions, entry: entry))
    additions += 1
    if place.pathHash == 0 && same >= Self.crowd { crowded.insert(entry.objectID) }
    return true
  }

  /// Takes out the newest entry of an object with this very key path object.
  ///
  /// - Parameter hasOthers: After it, whether the object may have further entries.
  mutating func take(
    _ object: ObjectIdentifier, _ path: ObjectIdentifier, _ hasOthers: inout Bool
  ) -> Entry? {
    let key = Self.key(object, 0)
    let taken = slots.remove(key) { $0.entry.objectID == object && $0.entry.path.object == path }
    if taken != nil { noteRemoval() }
    hasOthers = isCrowded(object)
    slots.forEach(key) { if $0.entry.objectID == object { hasOthers = true } }
    return taken?.entry
  }

  /// Takes out entries, the last first, as far as they are still there.
  mutating func remove(_ entries: [Entry]) {
    for entry in entries.reversed() { remove(entry) }
  }

  private mutating func remove(_ entry: Entry) {
    _ = slots.remove(Self.key(entry.objectID, entry.place.pathHash)) { $0.entry === entry }
    noteRemoval()
  }

  private mutating func noteRemoval() {
    // So that what has ended is at most as much as what there is.
    purgeThreshold = max(32, min(purgeThreshold, count * 2))
  }

  /// Takes out the entries of an object.
  mutating func remove(_ object: ObjectIdentifier) -> [Entry] {
    let isCrowded = !crowded.isEmpty && crowded.remove(object) != nil
    if isCrowded { moves += 1 }
    let near = isCrowded ? all : near(object).map(\.entry)
    let found = near.filter { $0.objectID == object }
    remove(found)
    return found
  }

  mutating func removeAll() -> [Entry] {
    defer {
      slots = AddressBuckets()
      crowded = []
      purgeThreshold = 32
      moves += 1
    }
    return all
  }

  // MARK: What has ended by itself

  /// Whether all entries are to be looked at: the table has doubled since they were.
  var isSuspicious: Bool { count >= purgeThreshold }

  /// All entries, if they are to be looked at: those that have ended are to be taken out.
  mutating func suspects() -> [Entry] {
    if !isSuspicious { return [] }
    purgeThreshold = count * 2
    return all
  }

  /// Takes out entries that have ended.
  mutating func forget(_ ended: [Entry]) {
    remove(ended)
    purgeThreshold = max(32, count * 2)
    if crowded.isEmpty { return }
    crowded.formIntersection(slots.all.map(\.entry.objectID))
    moves += 1
  }
}
