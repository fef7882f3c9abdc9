/// A message as several logs know it, with its place among the others.
struct Recovered {
  /// The message with the highest position that a log has for it, or `none`.
  var message: Message
  /// Whether no log has its payload any more.
  var isForgotten: Bool
  /// Whether its sender knows no position of it.
  var isUnknownToSender: Bool
  /// The place of the message in the order of delivery.
  private(set) var place: Place

  /// At a position, or after it and before the next one.
  struct Place: Comparable {
    var position: Position
    var isAfter: Bool

    static func < (left: Self, right: Self) -> Bool {
      if left.position != right.position { return left.position < right.position }
      return !left.isAfter && right.isAfter
    }
  }

  private init(_ entry: LogEntry) {
    message = entry.message
    isForgotten = entry.isForgotten
    isUnknownToSender = entry.message.position == .none
    place =
      isUnknownToSender
      ? Place(position: entry.after, isAfter: true)
      : Place(position: entry.message.position, isAfter: false)
  }

  private mutating func unite(with other: Self) {
    let position = max(message.position, other.message.position)
    if isForgotten, !other.isForgotten {
      message = other.message
      isForgotten = false
    }
    message.position = position
    isUnknownToSender = isUnknownToSender || other.isUnknownToSender
    place = min(place, other.place)
  }

  /// Puts the entries of several logs in one order.
  ///
  /// Each message is placed as early as its entries allow. A question is placed before its answer:
  /// the sender of the answer has the question in its log, before the place of the answer. A
  /// message that only its sender knows is placed right after the last message that the sender had
  /// heard. A hub may have sequenced it later; any answer to it is then later still.
  ///
  /// The messages of one sender stay in the order of their numbers.
  static func merge(_ entries: [LogEntry]) -> [Recovered] {
    var found: [Message.Key: Recovered] = [:]
    for entry in entries {
      let recovered = Recovered(entry)
      found[entry.message.key, default: recovered].unite(with: recovered)
    }
    var merged = found.values.sorted { $0.message.key < $1.message.key }
    for index in merged.indices.dropFirst()
    where merged[index].message.sender == merged[index - 1].message.sender {
      let previous = Place(position: merged[index - 1].place.position, isAfter: true)
      if merged[index].place <= merged[index - 1].place { merged[index].place = previous }
    }
    return merged.sorted {
      $0.place != $1.place ? $0.place < $1.place : $0.message.key < $1.message.key
    }
  }
}
