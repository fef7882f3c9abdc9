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
  struct Slot {
    let number: Int
    let entry: Entry
  }

  /// How many entries of one object are found by the object alone.
  private static let crowd = 16

  /// The entries, by a number that is made of the object, and of the hash of the path if it counts; at each
  /// place, oldest first.
  private var places: [[Slot]] = []
  private(set) var count = 0 {
    // So that what has ended is at most as much as what there is.
    didSet { purgeThreshold = max(32, min(purgeThreshold, count * 2)) }
  }
  private var purgeThreshold = 32
  /// The objects that have, or had, more than a crowd of entries.
  private var crowded: Set<ObjectIdentifier> = []
  private var additions = 0
  /// How often it has changed which objects are crowded, but for additions.
  private var moves = 0

  private func index(_ object: ObjectIdentifier, _ pathHash: Int) -> Int {
    let key = UInt(bitPattern: object) ^ (UInt(bitPattern: pathHash) << 4)
    return Int((key &* 0x9E37_79B9_7F4A_7C15) >> 40) & (places.count - 1)
  }

  // MARK: Looking

  /// Where an entry of an object is to stand.
  ///
  /// - Returns: Whether the hash of its path counts too.
  func find(_ object: ObjectIdentifier, _ place: inout Place) -> Bool {
    place = Place(additions: additions, moves: moves)
    return !crowded.isEmpty && crowded.contains(object)
  }

  /// The entries among which are those of an object, or of it and the hash of a path.
  func near(_ object: ObjectIdentifier, _ pathHash: Int = 0) -> [Slot] {
    places.isEmpty ? [] : places[index(object, pathHash)]
  }

  /// The entries, whether or not they have ended, oldest first.
  var all: [Entry] { places.joined().sorted { $0.number < $1.number }.map(\.entry) }

  // MARK: Changing

  /// Adds an entry.
  ///
  /// - Parameter isForced: Whether others may have come to its place since that was decided.
  /// - Returns: Whether it was added.
  mutating func add(_ entry: Entry, isForced: Bool) -> Bool {
    if count >= places.count * 2 { grow() }
    let index = index(entry.objectID, entry.place.pathHash)
    if entry.place.moves != moves { return false }
    if !isForced, let last = places[index].last, last.number >= entry.place.additions {
      return false
    }
    places[index].append(Slot(number: additions, entry: entry))
    additions += 1
    count += 1
    if entry.place.pathHash == 0 && places[index].count > Self.crowd {
      noteCrowd(entry.objectID, index)
    }
    return true
  }

  private mutating func noteCrowd(_ object: ObjectIdentifier, _ index: Int) {
    let same = places[index].count { $0.entry.objectID == object }
    if same >= Self.crowd { crowded.insert(object) }
  }

  private mutating func grow() {
    let slots = places.joined()
    places = Array(repeating: [], count: max(8, places.count * 2))
    // Of two places none comes to be one: the order is that of the additions.
    for slot in slots {
      places[index(slot.entry.objectID, slot.entry.place.pathHash)].append(slot)
    }
  }

  /// Takes out entries, the last first, as far as they are still there.
  mutating func remove(_ entries: [Entry]) {
    for entry in entries.reversed() { remove(entry) }
  }

  private mutating func remove(_ entry: Entry) {
    if places.isEmpty { return }
    let index = index(entry.objectID, entry.place.pathHash)
    guard let place = places[index].lastIndex(where: { $0.entry === entry }) else { return }
    places[index].remove(at: place)
    count -= 1
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
      places = []
      crowded = []
      count = 0
      moves += 1
    }
    return all
  }

  // MARK: What has ended by itself

  /// All entries, once in a while: those that have ended are to be taken out.
  ///
  /// The table has doubled since it was last asked, so that the cost of an addition stays constant.
  mutating func suspects() -> [Entry] {
    if count < purgeThreshold { return [] }
    purgeThreshold = count * 2
    return all
  }

  /// Takes out entries that have ended.
  mutating func forget(_ ended: [Entry]) {
    remove(ended)
    purgeThreshold = max(32, count * 2)
    if crowded.isEmpty { return }
    crowded.formIntersection(places.joined().map(\.entry.objectID))
    moves += 1
  }
}
