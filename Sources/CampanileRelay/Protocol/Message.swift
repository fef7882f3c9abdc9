/// A message on the bus.
///
/// Sender and number identify it. Positions order it among those of other senders.
struct Message: Hashable, Sendable {
  var sender: MemberID
  /// Counts the messages of the sender from 1, over all subjects.
  var number: UInt64
  /// The place that a hub gave it, or `none`.
  var position: Position
  var subject: String
  var version: UInt32
  /// The relays that have carried the message, for relays that pass it on.
  var path: [UInt64]
  var payload: [UInt8]

  var key: Key { Key(sender: sender, number: number) }

  /// The identity of a message.
  struct Key: Hashable, Comparable {
    var sender: MemberID
    var number: UInt64

    static func < (left: Self, right: Self) -> Bool {
      if left.sender != right.sender { return left.sender < right.sender }
      return left.number < right.number
    }
  }
}

extension Message: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(
      sender: try reader.read(), number: try reader.read(), position: try reader.read(),
      subject: try reader.read(), version: try reader.read(), path: try reader.read(),
      payload: Array(try reader.slice()))
  }

  func write(to writer: inout FrameWriter) {
    writer.write(sender, number, position, subject, version, path)
    writer.bytes(payload)
  }
}

extension Message.Key: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(sender: try reader.read(), number: try reader.read())
  }

  func write(to writer: inout FrameWriter) { writer.write(sender, number) }
}
