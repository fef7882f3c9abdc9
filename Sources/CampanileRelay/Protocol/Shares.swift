/// The messages that a member was given as one of a group, for the next hub: those that it has in hand,
/// and those that it has taken and that a hub may not know of.
struct Shares {
  private struct Key: Hashable {
    var group: String
    var message: Message.Key
  }

  private struct Entry {
    var position: Position
    var isTaken = false
  }

  enum Beginning { case isNew, isInHand, isTaken }

  private static let limit = 16_384

  private var entries: [Key: Entry] = [:]
  /// All that groups were to take has been taken up to here.
  private(set) var settled = Position.none

  mutating func begin(_ group: String, _ message: Message) -> Beginning {
    let key = Key(group: group, message: message.key)
    if let known = entries[key] { return known.isTaken ? .isTaken : .isInHand }
    // While one takes long, what others have taken is not settled, and may be sent again after a
    // takeover.
    if entries.count >= Self.limit { entries = entries.filter { !$0.value.isTaken } }
    entries[key] = Entry(position: message.position)
    return .isNew
  }

  mutating func end(_ group: String, _ message: Message.Key, isTaken: Bool) {
    let key = Key(group: group, message: message)
    if isTaken { entries[key]?.isTaken = true } else { entries[key] = nil }
  }

  /// Remembers that another member has taken a message, for the next hub.
  mutating func note(_ group: String, _ message: Message.Key, takenAt position: Position) {
    let key = Key(group: group, message: message)
    if position > settled, entries[key] == nil {
      entries[key] = Entry(position: position, isTaken: true)
    }
  }

  mutating func settle(upTo position: Position) {
    if position <= settled { return }
    settled = position
    if entries.isEmpty { return }
    entries = entries.filter { !$0.value.isTaken || $0.value.position > position }
  }

  /// The positions mean nothing any more, because the bus is another one.
  mutating func forgetPositions() {
    settled = .none
    for key in entries.keys { entries[key]?.position = .none }
  }

  var all: [MemberFrame.Shared] {
    entries.map { .init(group: $0.group, key: $0.message, isTaken: $1.isTaken) }
      .sorted { ($0.group, $0.key) < ($1.group, $1.key) }
  }
}
