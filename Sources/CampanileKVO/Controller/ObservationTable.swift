import Campanile

/// The observations of a controller, by object and key path.
///
/// Key paths may have arguments, whose `==` and `hash(into:)` are foreign code. The table is used
/// under the controller's lock, so it calls none of them. It finds entries by their object, and the
/// caller compares paths outside the lock. If an object has many entries, the later ones are found
/// by the hash of their path too.
struct ObservationTable {
  final class Entry: Sendable {
    /// Distinguishes the object from a later object at the same address.
    let object: OwnerReference<AnyObject>
    let objectID: ObjectIdentifier
    let path: KVOPath
    let registration: Registration
    fileprivate let text: Text
    fileprivate let place: Place

    /// The content of descriptions.
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
    /// Call this outside the lock, since it may release the object.
    var isLive: Bool { registration.isActive && living != nil }

    /// Whether this is a live observation of `object`, and not of an earlier object at its address.
    func isLive(of object: AnyObject) -> Bool { living === object && registration.isActive }

    var description: String {
      "\(text.objectType) \(path) \(text.wishes) (\(text.file):\(text.line))"
    }
  }

  /// The place of a new entry, and the state of the table when the place was chosen.
  struct Place {
    var additions = 0
    var moves = 0
    /// The hash of the path, if the object has many entries; otherwise 0.
    var pathHash = 0
  }

  /// An entry, and the number of entries that had been added before it.
  struct Slot: HasAddressKey {
    let number: Int
    let entry: Entry

    var addressKey: UInt { key(entry.objectID, entry.place.pathHash) }
  }

  private static func key(_ object: ObjectIdentifier, _ pathHash: Int) -> UInt {
    UInt(bitPattern: object) ^ (UInt(bitPattern: pathHash) << 4)
  }

  /// The number of entries of one object that are found by the object alone.
  private static let crowd = 16

  private var slots = AddressBuckets<Slot>()
  var count: Int { slots.count }
  private var purgeThreshold = 32
  /// The objects that have, or had, more than `crowd` entries, and the hashes in the keys of their
  /// later entries.
  private var crowded: [ObjectIdentifier: Set<Int>] = [:]
  private var additions = 0
  /// How often the set of crowded objects has changed other than by additions.
  private var moves = 0

  // MARK: Looking

  /// The place of a new entry of an object.
  ///
  /// - Returns: Whether the hash of its path is part of the key.
  func find(_ object: ObjectIdentifier, _ place: inout Place) -> Bool {
    place = Place(additions: additions, moves: moves)
    return isCrowded(object)
  }

  private func isCrowded(_ object: ObjectIdentifier) -> Bool {
    !crowded.isEmpty && crowded[object] != nil
  }

  /// The entries with the same key as an object, or as an object and the hash of a path.
  ///
  /// Entries of other objects may be among them.
  func near(_ object: ObjectIdentifier, _ pathHash: Int = 0) -> [Slot] {
    slots[Self.key(object, pathHash)]
  }

  /// All entries, oldest first, whether or not they have ended.
  var all: [Entry] { slots.all.sorted { $0.number < $1.number }.map(\.entry) }

  // MARK: Changing

  /// Adds an entry.
  ///
  /// - Parameter isForced: Whether to add it even if other entries have been added since its place
  ///   was chosen.
  /// - Returns: Whether it was added.
  mutating func add(_ entry: Entry, isForced: Bool) -> Bool {
    let place = entry.place
    if place.moves != moves { return false }
    let key = Self.key(entry.objectID, place.pathHash)
    var (late, same) = (0, 0)
    // Of a crowded object, those that are forced need not be counted, however many there are.
    if !isForced || place.pathHash == 0 {
      slots.forEach(key) { slot in
        if slot.number >= place.additions { late += 1 }
        if slot.entry.objectID == entry.objectID { same += 1 }
      }
    }
    if !isForced && late > 0 { return false }
    slots.append(Slot(number: additions, entry: entry))
    additions += 1
    if place.pathHash != 0 {
      crowded[entry.objectID, default: []].insert(place.pathHash)
    } else if same >= Self.crowd && !isCrowded(entry.objectID) {
      crowded[entry.objectID] = []
    }
    return true
  }

  /// Takes out the newest entry of an object with this very key path object.
  ///
  /// - Parameter hasOthers: On return, whether the object may have further entries.
  mutating func take(
    _ object: ObjectIdentifier, _ path: ObjectIdentifier, _ hasOthers: inout Bool
  ) -> Entry? {
    let key = Self.key(object, 0)
    let taken = slots.remove(key) { $0.entry.objectID == object && $0.entry.path.object == path }
    if let taken { noteRemoval(of: taken.entry) }
    hasOthers = isCrowded(object)
    slots.forEach(key) { if $0.entry.objectID == object { hasOthers = true } }
    return taken?.entry
  }

  /// Takes out those of the entries that are still in the table, the last first.
  mutating func remove(_ entries: [Entry]) {
    for entry in entries.reversed() { remove(entry) }
  }

  private mutating func remove(_ entry: Entry) {
    _ = slots.remove(Self.key(entry.objectID, entry.place.pathHash)) { $0.entry === entry }
    noteRemoval(of: entry)
  }

  private mutating func noteRemoval(of entry: Entry) {
    let (object, pathHash) = (entry.objectID, entry.place.pathHash)
    if pathHash != 0, isCrowded(object) {
      let other = slots.last(Self.key(object, pathHash)) {
        $0.entry.objectID == object && $0.entry.place.pathHash == pathHash
      }
      if other == nil { crowded[object]?.remove(pathHash) }
    }
    if !crowded.isEmpty, crowded[object]?.isEmpty == true, slots(of: object, 0).isEmpty {
      crowded[object] = nil
      moves += 1
    }
    // Keeps the ended entries at most as many as the others.
    purgeThreshold = max(32, min(purgeThreshold, count * 2))
  }

  /// Takes out the entries of an object.
  mutating func remove(_ object: ObjectIdentifier) -> [Entry] {
    var slots = slots(of: object, 0)
    if !crowded.isEmpty, let hashes = crowded.removeValue(forKey: object) {
      moves += 1
      for pathHash in hashes { slots += self.slots(of: object, pathHash) }
      slots.sort { $0.number < $1.number }
    }
    let found = slots.map(\.entry)
    remove(found)
    return found
  }

  /// The entries of an object with this hash in their keys, oldest first.
  private func slots(of object: ObjectIdentifier, _ pathHash: Int) -> [Slot] {
    near(object, pathHash).filter {
      $0.entry.objectID == object && $0.entry.place.pathHash == pathHash
    }
  }

  mutating func removeAll() -> [Entry] {
    defer {
      slots = AddressBuckets()
      crowded = [:]
      purgeThreshold = 32
      moves += 1
    }
    return all
  }

  // MARK: Entries that have ended by themselves

  /// Whether all entries have to be checked, because the table has doubled since the last check.
  var isSuspicious: Bool { count >= purgeThreshold }

  /// All entries, if they have to be checked.
  ///
  /// The caller removes those that have ended.
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
    let objects = Set(slots.all.map(\.entry.objectID))
    crowded = crowded.filter { objects.contains($0.key) }
    moves += 1
  }
}

extension KVOPath {
  /// The hash in the key of an entry whose object has many, which is never 0.
  ///
  /// Arguments of the key path are hashed by foreign code.
  var crowdedHash: Int { hashValue | 1 }
}
