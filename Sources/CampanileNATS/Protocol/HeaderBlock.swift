#if NATS
  /// The headers of a message, as they arrived: a line with the version, fields, and an empty line.
  ///
  /// Names are compared as they are written.
  struct HeaderBlock: Hashable, Sendable {
    let bytes: [UInt8]

    /// No headers.
    static let none = HeaderBlock(bytes: [])

    /// The status of a server's own message, like 503 for a request without an answerer.
    var status: Int? {
      // Most messages have none: after the version, the line ends.
      if bytes.count < 9 || bytes[8] == UInt8(ascii: "\r") { return nil }
      let words = firstWords
      return words.count > 1 && words[0] == "NATS/1.0" ? Int(words[1]) : nil
    }

    /// The server's text for the status.
    var statusText: String { firstWords.count == 3 ? firstWords[2] : "" }

    /// The words of a line such as `NATS/1.0 503 No Responders`.
    private var firstWords: [String] {
      line(from: 0).split(separator: UInt8(ascii: " "), maxSplits: 2).map {
        String(decoding: $0, as: UTF8.self)
      }
    }

    /// The first value of a field, without the space around it.
    func value(of name: String) -> ArraySlice<UInt8>? {
      let name = name.utf8
      var start = line(from: 0).endIndex + 2
      while start < bytes.count {
        let line = line(from: start)
        if line.isEmpty { return nil }
        if line.count > name.count, line[start + name.count] == UInt8(ascii: ":"),
          line.prefix(name.count).elementsEqual(name)
        {
          return line.dropFirst(name.count + 1).trimming { $0 == 0x20 || $0 == 0x09 }
        }
        start = line.endIndex + 2
      }
      return nil
    }

    func text(of name: String) -> String? {
      value(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    private func line(from start: Int) -> ArraySlice<UInt8> {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\r")) ?? bytes.count
      return bytes[start..<end]
    }
  }
#endif
