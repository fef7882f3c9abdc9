#if NATS
  import NIOCore

  /// Reads what a server sends, in any pieces.
  ///
  /// Lengths are checked before the bytes that they count are waited for.
  struct ServerParser: NIOSingleStepByteToMessageDecoder {
    typealias InboundOut = ServerFrame

    /// The bytes of a line at the most: INFO names all servers of a cluster.
    static let lineLimit = 256 << 10
    /// The bytes of headers and payload at the most: no server takes more than 64 megabytes.
    static let messageLimit = 64 << 20 + 64 << 10

    /// How much of the next line has been looked through for its end.
    private var scanned = 0
    /// The line of a message whose headers and payload have not arrived yet.
    private var head: Head?
    /// The subject of the last message, which the next one often has too.
    private var lastSubject = Subject()

    private struct Subject {
      var bytes: [UInt8] = []
      var text = ""
    }

    private struct Head {
      var subject: String
      var sid: UInt64
      var reply: String?
      var headerLength: Int
      var length: Int
    }

    /// The messages that have arrived whole, or one other frame.
    mutating func decode(buffer: inout ByteBuffer) throws -> ServerFrame? {
      var messages: [ServerMessage] = []
      // How much has been read: moving the buffer's index each time takes long.
      var position = 0
      var other: ServerFrame?
      do {
        let bytes = buffer.readableBytesUInt8Span
        while other == nil {
          if let head {
            guard let message = try message(head, buffer, bytes, &position) else { break }
            messages.append(message)
            self.head = nil
            continue
          }
          guard let end = try lineEnd(in: bytes, from: position) else { break }
          let verb = try bytes.verb(from: position, to: end)
          if verb == Self.message || verb == Self.messageWithHeaders {
            head = try head(
              buffer, bytes, position, end, hasHeaders: verb == Self.messageWithHeaders)
          } else if messages.isEmpty {
            other = try Self.frame(verb, buffer, position, end)
          } else {
            break
          }
          position = end + 2
        }
      } catch {
        // The messages before it count; then the rest is read again.
        if messages.isEmpty { throw error }
      }
      buffer.moveReaderIndex(forwardBy: position)
      return other ?? (messages.isEmpty ? nil : .messages(messages))
    }

    mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ServerFrame? {
      try decode(buffer: &buffer)
    }

    /// Where the line that begins at a position ends.
    private mutating func lineEnd(
      in bytes: borrowing Span<UInt8>, from start: Int
    ) throws(ProtocolError) -> Int? {
      var newline = start + scanned
      while newline < bytes.count, bytes[newline] != UInt8(ascii: "\n") { newline += 1 }
      guard newline < bytes.count else {
        scanned = newline - start
        try Self.check(length: scanned)
        return nil
      }
      scanned = 0
      try Self.check(length: newline - start)
      guard newline > start, bytes[newline - 1] == UInt8(ascii: "\r") else {
        throw ProtocolError("A line of the server ends without a carriage return.")
      }
      return newline - 1
    }

    private static func check(length: Int) throws(ProtocolError) {
      if length > lineLimit {
        throw ProtocolError("A line of the server has \(length) bytes and more.")
      }
    }

    /// The bytes of the message after a position, once all have arrived.
    private func message(
      _ head: Head, _ buffer: ByteBuffer, _ bytes: borrowing Span<UInt8>, _ position: inout Int
    ) throws(ProtocolError) -> ServerMessage? {
      let end = position + head.length
      guard bytes.count >= end + 2 else { return nil }
      guard bytes[end] == UInt8(ascii: "\r"), bytes[end + 1] == UInt8(ascii: "\n") else {
        throw ProtocolError("A message of the server is longer than the server says.")
      }
      let middle = position + head.headerLength
      defer { position = end + 2 }
      return ServerMessage(
        subject: head.subject, sid: head.sid, reply: head.reply,
        headers: head.headerLength == 0
          ? .none : HeaderBlock(bytes: buffer.bytes(position..<middle)),
        payload: buffer.bytes(middle..<end))
    }

    // MARK: Lines

    /// MSG and HMSG: the bytes as a number.
    private static let (message, messageWithHeaders) = (0x4D_5347 as UInt64, 0x484D_5347 as UInt64)

    private static func frame(
      _ verb: UInt64, _ buffer: ByteBuffer, _ start: Int, _ end: Int
    ) throws(ProtocolError) -> ServerFrame {
      var rest = start
      _ = buffer.readableBytesUInt8Span.word(from: &rest, to: end)
      switch verb {
      case 0x5049_4E47: return .ping
      case 0x504F_4E47: return .pong
      case 0x2B_4F4B: return .ok
      case 0x2D45_5252:
        return .error(String(buffer.text(rest..<end).trimming { " \t'".contains($0) }))
      case 0x494E_464F: return .info(try ServerInfo(json: buffer.bytes(rest..<end)))
      default:
        throw ProtocolError("A line of the server begins with none of the protocol's words.")
      }
    }

    /// Subject, number, possibly where to answer, possibly the length of the headers, the length.
    private mutating func head(
      _ buffer: ByteBuffer, _ bytes: borrowing Span<UInt8>, _ start: Int, _ end: Int,
      hasHeaders: Bool
    ) throws(ProtocolError) -> Head {
      var rest = start
      guard bytes.word(from: &rest, to: end) != nil,
        let subject = bytes.word(from: &rest, to: end),
        let sid = bytes.word(from: &rest, to: end).flatMap({ bytes.number($0) }),
        let third = bytes.word(from: &rest, to: end)
      else { throw ProtocolError("A message of the server has no length.") }
      var (numbers, count) = ((third, third), 1)
      while let word = bytes.word(from: &rest, to: end) {
        numbers = (numbers.1, word)
        count += 1
      }
      let needed = hasHeaders ? 2 : 1
      guard count == needed || count == needed + 1, let length = bytes.number(numbers.1),
        let headerLength = hasHeaders ? bytes.number(numbers.0) : 0
      else { throw ProtocolError("A message of the server has a length that is no number.") }
      guard length <= Self.messageLimit, headerLength <= length else {
        throw ProtocolError("A message of the server has \(length) bytes, or more of headers.")
      }
      if !bytes.equals(lastSubject.bytes, subject) {
        lastSubject = Subject(bytes: buffer.bytes(subject), text: buffer.text(subject))
      }
      return Head(
        subject: lastSubject.text, sid: UInt64(sid),
        reply: count > needed ? buffer.text(third) : nil, headerLength: headerLength,
        length: length)
    }
  }

  // Positions count from the first readable byte.
  extension ByteBuffer {
    fileprivate func bytes(_ range: Range<Int>) -> [UInt8] {
      getBytes(at: readerIndex + range.lowerBound, length: range.count) ?? []
    }

    fileprivate func text(_ range: Range<Int>) -> String {
      getString(at: readerIndex + range.lowerBound, length: range.count) ?? ""
    }
  }

  extension Span<UInt8> {
    /// The next word before the end of a line; then `start` is after it.
    @inline(__always)
    fileprivate func word(from start: inout Int, to end: Int) -> Range<Int>? {
      var lower = start
      while lower < end, Self.isSpace(self[lower]) { lower += 1 }
      var upper = lower
      while upper < end, !Self.isSpace(self[upper]) { upper += 1 }
      start = upper
      return lower == upper ? nil : lower..<upper
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    fileprivate func equals(_ other: [UInt8], _ range: Range<Int>) -> Bool {
      if range.count != other.count { return false }
      for index in other.indices where self[range.lowerBound + index] != other[index] {
        return false
      }
      return true
    }

    /// A number that is not negative and has at most 18 digits.
    fileprivate func number(_ range: Range<Int>) -> Int? {
      if range.count > 18 { return nil }
      var number = 0
      for index in range {
        let digit = Int(self[index]) - 48
        guard digit >= 0, digit < 10 else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    /// The first word of a line in uppercase: its first five bytes as a number.
    fileprivate func verb(from start: Int, to end: Int) throws(ProtocolError) -> UInt64 {
      var rest = start
      guard let range = word(from: &rest, to: end) else {
        throw ProtocolError("A line of the server is empty.")
      }
      var word: UInt64 = 0
      for index in range.prefix(5) {
        let byte = self[index]
        word = word << 8 | UInt64(byte >= 0x61 && byte <= 0x7A ? byte & 0xDF : byte)
      }
      return word
    }
  }
#endif
