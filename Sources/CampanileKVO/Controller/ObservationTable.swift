import Campanile

/// The observations of a controller, by object.
///
/// Key paths may have arguments, whose `==` is foreign code. The table is used under the controller's
/// lock, so it compares no key paths: the caller does, outside the lock, and asks again if entries of
/// the object have been added meanwhile.
struct ObservationTable {
  final class Entry: Sendable {
    /// Distinguishes the object from a later object at the same address.
    private let object: OwnerReference<AnyObject>
    let objectID: ObjectIdentifier
    let registration: Registration
    let text: Text

    /// The content of descriptions.
    struct Text: Sendable {
      let path: KVOPath
      let ownerType: any AnyObject.Type
      let objectType: any Any.Type
      let wishes: ObserverWishes
      let file: StaticString
      let line: UInt
    }

    init(
      _ object: OwnerReference<AnyObject>, _ objectID: ObjectIdentifier,
      _ registration: Registration, _ text: Text
    ) {
      self.object = object
      self.objectID = objectID
      self.registration = registration
      self.text = text
    }

    /// Whether the observation has not ended.
    ///
    /// Call this outside the lock, since it may release the object.
    var isLive: Bool { registration.isActive && object.object != nil }

    /// Whether this is a live observation of `other`, and not of an earlier object at its address.
    func isLive(of other: AnyObject) -> Bool { object.object === other && registration.isActive }

    var path: KVOPath { text.path }

    var description: String {
      "\(text.objectType) \(path) \(text.wishes) (\(text.file):\(text.line))"
    }

    /// The result of a call that asks for it again.
    var result: KVOResult {
      KVOResult(outcome: .alreadyObserved, registration: registration, text: text)
    }
  }

  /// An entry, and the number of entries that had been added before it.
  private struct Slot: HasAddressKey {
    let number: Int
    let entry: Entry

    var addressKey: UInt { UInt(bitPattern: entry.objectID) }
  }

  private var slots = AddressBuckets<Slot>()
  /// The number of entries that have ever been added.
  private(set) var additions = 0
  private var purgeThreshold = 32

  /// The entries of an object, oldest first, whether or not they have ended.
  func entries(of object: ObjectIdentifier) -> [Entry] {
    var found: [Entry] = []
    slots.forEach(UInt(bitPattern: object)) {
      if $0.entry.objectID == object { found.append($0.entry) }
    }
    return found
  }

  /// All entries, oldest first, whether or not they have ended.
  var all: [Entry] { slots.all.sorted { $0.number < $1.number }.map(\.entry) }

  /// Adds an entry.
  ///
  /// - Parameter known: The number of additions when the entries of the object were looked at, if
  ///   they were. If another one has been added since, this one is not.
  /// - Returns: Whether the entry was added.
  mutating func add(_ entry: Entry, after known: Int?) -> Bool {
    var isLate = false
    if let known, known != additions {
      slots.forEach(UInt(bitPattern: entry.objectID)) {
        if $0.entry.objectID == entry.objectID && $0.number >= known { isLate = true }
      }
    }
    if isLate { return false }
    slots.append(Slot(number: additions, entry: entry))
    additions += 1
    return true
  }

  /// Takes out the newest entry of an object with this very key path object.
  ///
  /// - Parameter hasOthers: On return, whether the object has further entries.
  mutating func take(
    _ object: ObjectIdentifier, _ path: ObjectIdentifier, _ hasOthers: inout Bool
  ) -> Entry? {
    let key = UInt(bitPattern: object)
    let taken = slots.remove(key) { $0.entry.objectID == object && $0.entry.path.object == path }
    slots.forEach(key) { if $0.entry.objectID == object { hasOthers = true } }
    noteRemoval()
    return taken?.entry
  }

  /// Takes out those of the entries that are still in the table, the last first.
  mutating func remove(_ entries: [Entry]) {
    for entry in entries.reversed() {
      _ = slots.remove(UInt(bitPattern: entry.objectID)) { $0.entry === entry }
    }
    noteRemoval()
  }

  /// Takes out the entries of an object.
  mutating func remove(_ object: ObjectIdentifier) -> [Entry] {
    let found = entries(of: object)
    remove(found)
    return found
  }

  mutating func removeAll() -> [Entry] {
    let all = all
    slots = AddressBuckets()
    noteRemoval()
    return all
  }

  /// Keeps the ended entries at most as many as the others.
  private mutating func noteRemoval() {
    purgeThreshold = max(32, min(purgeThreshold, slots.count * 2))
  }

  /// All entries, if the table has doubled since they were last checked.
  ///
  /// The caller removes those that have ended by themselves.
  mutating func suspects() -> [Entry] {
    if slots.count < purgeThreshold { return [] }
    purgeThreshold = slots.count * 2
    return all
  }
}
