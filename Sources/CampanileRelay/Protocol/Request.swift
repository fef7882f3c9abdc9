/// A question to the members that answer a subject.
struct Request: Hashable, Sendable {
  /// Identifies the request among the requests of the member that asks.
  var correlation: UInt64
  /// The member that asks.
  var from: MemberID
  var subject: String
  var version: UInt32
  var payload: [UInt8]
}

extension Request: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(
      correlation: try reader.read(), from: try reader.read(), subject: try reader.read(),
      version: try reader.read(), payload: Array(try reader.slice()))
  }

  func write(to writer: inout FrameWriter) {
    writer.write(correlation, from, subject, version)
    writer.bytes(payload)
  }
}
