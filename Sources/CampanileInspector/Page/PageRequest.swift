#if Page
  /// The beginning of a request: its first line, and the relevant header fields.
  struct PageRequest: Sendable {
    let method: String
    let path: String
    let host: String?
    let origin: String?

    /// Parses a request up to the empty line that ends its header.
    ///
    /// The parser is strict: a request that no browser sends is refused.
    init(_ text: String) throws(PageStatus) {
      var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
      let first = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
      guard first.count == 3, first[2] == "HTTP/1.1", first[1].hasPrefix("/") else {
        throw .badRequest
      }
      (method, path) = (String(first[0]), String(first[1]))
      var fields: [String: String] = [:]
      for line in lines where !line.isEmpty {
        guard let colon = line.firstIndex(of: ":") else { throw .badRequest }
        let name = line[..<colon].lowercased()
        if name.isEmpty || name.contains(where: \.isWhitespace) { throw .badRequest }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        // If there are two hosts or origins, other programs may choose a different one.
        if ["host", "origin"].contains(name), fields[name] != nil { throw .badRequest }
        fields[name] = String(value)
      }
      host = fields["host"]?.lowercased()
      origin = fields["origin"]?.lowercased()
    }

    /// Reads a request, in the pieces in which it arrives.
    ///
    /// - Parameters:
    ///   - limit: The greatest number of bytes.
    ///   - readPiece: Reads one byte or more, and at most the number of bytes that it receives.
    static func read(
      atMost limit: Int, _ readPiece: (_ limit: Int) async throws -> [UInt8]
    ) async throws -> PageRequest {
      var bytes: [UInt8] = []
      let end = Array("\r\n\r\n".utf8)
      while true {
        let checked = max(0, bytes.count - end.count)
        bytes += try await readPiece(limit + 1 - bytes.count)
        if let index = bytes[checked...].firstRange(of: end)?.lowerBound {
          guard let text = String(validating: bytes[..<index], as: UTF8.self) else {
            throw PageStatus.badRequest
          }
          return try PageRequest(text)
        }
        if bytes.count > limit { throw PageStatus.headerTooLarge }
      }
    }
  }
#endif
