#if NATS
  import CampanileRelay

  /// The relay's description of a message, in one of its headers.
  ///
  /// Its fields, with spaces between them:
  ///
  /// - the sender, in hexadecimal
  /// - the number of the message among those of its sender and subject; 0 for a request
  /// - the number from which the sender counts without a gap
  /// - the version
  /// - the sender's name
  /// - the path, in hexadecimal, with commas; or a hyphen
  struct Envelope: Sendable {
    let sender, number, since: UInt64
    let version: UInt32
    /// The sender's name, as it is written.
    private let writtenName: ArraySlice<UInt8>
    private(set) var path: [UInt64] = []

    static let field = "Campanile"

    static func written(_ path: [UInt64]) -> String {
      path.isEmpty ? "-" : path.map { String($0, radix: 16) }.joined(separator: ",")
    }

    var isRequest: Bool { number == 0 }
    /// The sender's name, which is rarely asked for.
    var name: String {
      SubjectName.unescaped(Substring(decoding: writtenName, as: UTF8.self)) ?? ""
    }

    /// Nothing if there is none, or one that is written otherwise.
    init?(_ headers: HeaderBlock) {
      guard var text = headers.value(of: Self.field), let sender = text.popWord().number(16),
        let number = text.popWord().number(10), let since = text.popWord().number(10),
        let version = text.popWord().number(10), let version = UInt32(exactly: version),
        since <= number
      else { return nil }
      let name = text.popWord()
      // Which is the last word.
      if text.isEmpty || text.contains(UInt8(ascii: " ")) { return nil }
      (self.sender, self.number, self.since, self.version) = (sender, number, since, version)
      writtenName = name
      if text.count == 1, text.first == UInt8(ascii: "-") { return }
      for step in text.split(separator: UInt8(ascii: ",")) {
        guard let step = step.number(16) else { return nil }
        path.append(step)
      }
    }
  }

  // Bytes are put together in an array: each writing to a buffer costs more than ten of these.
  extension [UInt8] {
    mutating func append(_ text: String) { append(contentsOf: text.utf8) }

    /// Appends a number's decimal digits.
    mutating func append(decimal number: UInt64) {
      var (rest, start) = (number, count)
      repeat {
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
        rest /= 10
      } while rest > 0
      var end = count - 1
      while start < end {
        swapAt(start, end)
        (start, end) = (start + 1, end - 1)
      }
    }
  }

  extension ArraySlice<UInt8> {
    /// Takes the bytes before the next space, and the space.
    fileprivate mutating func popWord() -> Self {
      let end = firstIndex(of: UInt8(ascii: " ")) ?? endIndex
      defer { self = self[Swift.min(end + 1, endIndex)...] }
      return self[..<end]
    }

    /// A number without a sign.
    fileprivate func number(_ radix: UInt64) -> UInt64? {
      if isEmpty { return nil }
      var number: UInt64 = 0
      for byte in self {
        let digit: UInt64
        switch byte {
        case 0x30...0x39: digit = UInt64(byte - 0x30)
        case 0x61...0x66: digit = UInt64(byte - 0x61 + 10)
        default: return nil
        }
        if digit >= radix { return nil }
        let (product, overflows) = number.multipliedReportingOverflow(by: radix)
        let (sum, exceeds) = product.addingReportingOverflow(digit)
        if overflows || exceeds { return nil }
        number = sum
      }
      return number
    }
  }
#endif
