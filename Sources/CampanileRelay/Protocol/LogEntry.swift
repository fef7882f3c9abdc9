/// The record that a member or a hub keeps of one message, for members that lack it after a hub's
/// death.
struct LogEntry: Hashable, Sendable {
  /// The message; without path and payload if it has been forgotten.
  var message: Message
  /// Whether only the place, the sender, the number and the subject are left.
  var isForgotten = false
  /// The highest position that the sender had received when it posted the message.
  ///
  /// It bounds the place of a message that has no position yet. The question that the message
  /// answers is at or before it, and every answer to the message is after it.
  var after = Position.none

  /// The bytes that count against the bound of a log: what the entry takes in memory, besides what its
  /// message does.
  var cost: Int { message.cost + 64 }

  mutating func forget() {
    isForgotten = true
    message.payload = []
    message.path = []
  }
}

extension Message {
  /// The memory that the message takes, roughly.
  ///
  /// Empty messages cost something, too.
  var cost: Int { 64 + payload.count + 8 * path.count + subject.utf8.count }
}

extension LogEntry: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    let isForgotten: Bool = try reader.read()
    let after: Position = try reader.read()
    self.init(message: try reader.read(), isForgotten: isForgotten, after: after)
  }

  func write(to writer: inout FrameWriter) { writer.write(isForgotten, after, message) }
}
