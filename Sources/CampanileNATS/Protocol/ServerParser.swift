#if NATS
  import NIOCore

  /// Reads what a server sends, in any pieces.
  ///
  /// Lengths are checked before the bytes that they count are waited for.
  struct ServerParser: NIOSingleStepByteToMessageDecoder {
    typealias InboundOut = ServerFrame

    /// The bytes of a line at the most.
    static let lineLimit = 4_096
    /// The bytes of the line INFO at the most, which names all servers of a cluster.
    static let infoLimit = 256 << 10
    /// The bytes of headers and payload at the most: no server takes more than 64 megabytes.
    static let messageLimit = 64 << 20 + 64 << 10

    /// How much of the next line has been looked through for its end.
    private var scanned = 0
    /// The line of a message whose headers and payload have not arrived yet.
    private var head: Head?

    private struct Head {
      var subject: String
      var sid: UInt64
      var reply: String?
      var headerLength: Int
      var length: Int
    }

    mutating func decode(buffer: inout ByteBuffer) throws -> ServerFrame? {
      if let head { return try message(head, &buffer) }
      guard let end = try lineEnd(in: buffer) else { return nil }
      let line = try Self.parse(buffer, to: end)
      buffer.moveReaderIndex(forwardBy: end + 2)
      switch line {
      case .frame(let frame): return frame
      case .head(let head):
        self.head = head
        return try message(head, &buffer)
      }
    }

    mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ServerFrame? {
      try decode(buffer: &buffer)
    }

    /// How many bytes there are before the end of the line.
    private mutating func lineEnd(in buffer: ByteBuffer) throws(ProtocolError) -> Int? {
      let view = buffer.readableBytesView
      guard
        let newline = view.dropFirst(scanned).firstIndex(of: UInt8(ascii: "\n"))
          .map({ $0 - view.startIndex })
      else {
        scanned = view.count
        try Self.check(buffer, length: scanned)
        return nil
      }
      scanned = 0
      try Self.check(buffer, length: newline)
      guard newline > 0, buffer.byte(newline - 1) == UInt8(ascii: "\r") else {
        throw ProtocolError("A line of the server ends without a carriage return.")
      }
      return newline - 1
    }

    private static func check(_ buffer: ByteBuffer, length: Int) throws(ProtocolError) {
      if length <= lineLimit { return }
      guard length <= infoLimit, buffer.byte(0) & 0xDF == UInt8(ascii: "I") else {
        throw ProtocolError("A line of the server has \(length) bytes and more.")
      }
    }

    /// The bytes of the message, once all have arrived.
    private mutating func message(_ head: Head, _ buffer: inout ByteBuffer) throws -> ServerFrame? {
      guard buffer.readableBytes >= head.length + 2 else { return nil }
      self.head = nil
      let headers = buffer.readBytes(length: head.headerLength) ?? []
      let payload = buffer.readBytes(length: head.length - head.headerLength) ?? []
      guard buffer.readInteger(as: UInt16.self) == 0x0D0A else {
        throw ProtocolError("A message of the server is longer than the server says.")
      }
      return .message(
        ServerMessage(
          subject: head.subject, sid: head.sid, reply: head.reply,
          headers: HeaderBlock(bytes: headers), payload: payload))
    }

    // MARK: Lines

    private enum Line {
      case frame(ServerFrame)
      case head(Head)
    }

    private static func parse(_ buffer: ByteBuffer, to end: Int) throws -> Line {
      var rest = 0
      guard let verb = buffer.word(from: &rest, to: end) else {
        throw ProtocolError("A line of the server is empty.")
      }
      switch buffer.verb(verb) {
      case .message: return .head(try head(buffer, &rest, end, hasHeaders: false))
      case .messageWithHeaders: return .head(try head(buffer, &rest, end, hasHeaders: true))
      case .ping: return .frame(.ping)
      case .pong: return .frame(.pong)
      case .ok: return .frame(.ok)
      case .error:
        let text = buffer.text(verb.upperBound..<end)
        return .frame(.error(text.trimming { $0 == " " || $0 == "\t" || $0 == "'" }))
      case .info:
        let json = buffer.getBytes(at: buffer.readerIndex + rest, length: end - rest) ?? []
        return .frame(.info(try ServerInfo(json: json)))
      case nil:
        throw ProtocolError("A line of the server begins with none of the protocol's words.")
      }
    }

    /// Subject, number, possibly where to answer, possibly the length of the headers, the length.
    private static func head(
      _ buffer: ByteBuffer, _ rest: inout Int, _ end: Int, hasHeaders: Bool
    ) throws(ProtocolError) -> Head {
      guard let subject = buffer.word(from: &rest, to: end),
        let sid = buffer.word(from: &rest, to: end).flatMap({ buffer.number($0) }),
        let third = buffer.word(from: &rest, to: end)
      else { throw ProtocolError("A message of the server has no length.") }
      var (numbers, count) = ((third, third), 1)
      while let word = buffer.word(from: &rest, to: end) {
        numbers = (numbers.1, word)
        count += 1
      }
      let needed = hasHeaders ? 2 : 1
      guard count == needed || count == needed + 1, let length = buffer.number(numbers.1),
        let headerLength = hasHeaders ? buffer.number(numbers.0) : 0
      else { throw ProtocolError("A message of the server has a length that is no number.") }
      guard length <= messageLimit, headerLength <= length else {
        throw ProtocolError("A message of the server has \(length) bytes, or more of headers.")
      }
      return Head(
        subject: buffer.text(subject), sid: UInt64(sid),
        reply: count > needed ? buffer.text(third) : nil, headerLength: headerLength,
        length: length)
    }
  }

  private enum Verb {
    case message, messageWithHeaders, ping, pong, ok, error, info
  }

  // Indexes count from the first readable byte.
  extension ByteBuffer {
    fileprivate func byte(_ index: Int) -> UInt8 {
      getInteger(at: readerIndex + index) ?? 0
    }

    /// The next word before the end of a line; then `start` is after it.
    fileprivate func word(from start: inout Int, to end: Int) -> Range<Int>? {
      let bytes = readableBytesUInt8Span
      func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
      }
      var lower = start
      while lower < end, isSpace(bytes[lower]) { lower += 1 }
      var upper = lower
      while upper < end, !isSpace(bytes[upper]) { upper += 1 }
      start = upper
      return lower == upper ? nil : lower..<upper
    }

    fileprivate func text(_ range: Range<Int>) -> String {
      getString(at: readerIndex + range.lowerBound, length: range.count) ?? ""
    }

    /// A number that is not negative and has at most 18 digits.
    fileprivate func number(_ range: Range<Int>) -> Int? {
      if range.count > 18 { return nil }
      let bytes = readableBytesUInt8Span
      var number = 0
      for index in range {
        let digit = Int(bytes[index]) - 48
        guard digit >= 0, digit < 10 else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    /// The verb of the first word, in lowercase or uppercase.
    fileprivate func verb(_ range: Range<Int>) -> Verb? {
      if range.count > 4 { return nil }
      let word = range.reduce(UInt32(0)) { word, index in
        let byte = byte(index)
        return word << 8 | UInt32(byte >= 0x61 && byte <= 0x7A ? byte & 0xDF : byte)
      }
      return switch word {
      case 0x4D_5347: .message
      case 0x484D_5347: .messageWithHeaders
      case 0x5049_4E47: .ping
      case 0x504F_4E47: .pong
      case 0x2B_4F4B: .ok
      case 0x2D45_5252: .error
      case 0x494E_464F: .info
      default: nil
      }
    }
  }

  extension String {
    fileprivate func trimming(_ isDropped: (Character) -> Bool) -> String {
      var rest = drop(while: isDropped)
      while let last = rest.last, isDropped(last) { rest.removeLast() }
      return String(rest)
    }
  }
#endif
