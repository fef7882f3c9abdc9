#if NATS
  /// Seals the subjects for answers, so that no client answers a message that it has not received.
  ///
  /// Each receiver of a request or a post sees the subject for its answer. The last token of the
  /// subject says what is answered, and ends with a seal that only the relay can compute: the
  /// subject of one answer does not tell that of another.
  struct ReplySeal {
    private let key = (
      UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)
    )

    /// The seal of what a token says: at most a letter, and a number.
    ///
    /// The standard library's hash is SipHash with a key of the process, a keyed function whose values
    /// tell nothing about its other values.
    @inline(__always)
    func seal(_ kind: UInt8, _ number: UInt64) -> UInt64 {
      var hasher = Hasher()
      hasher.combine(key.0)
      hasher.combine(key.1)
      hasher.combine(kind)
      hasher.combine(number)
      return UInt64(truncatingIfNeeded: hasher.finalize())
    }

    private func seal<Text: StringProtocol>(of text: Text) -> [UInt8] {
      let kind = text.utf8.first.flatMap { $0 < UInt8(ascii: "a") ? nil : $0 }
      let number = UInt64(kind == nil ? text[...] : text.dropFirst()) ?? 0
      var bytes = [UInt8(ascii: "x")]
      bytes.append(seal: seal(kind ?? 0, number))
      return bytes
    }

    /// Seals the first of some tokens with dots between them.
    func sealed(_ tokens: String) -> String {
      let end = tokens.firstIndex(of: ".") ?? tokens.endIndex
      let seal = String(decoding: seal(of: tokens[..<end]), as: UTF8.self)
      return tokens[..<end] + seal + tokens[end...]
    }

    /// The content of a token, if its seal is right.
    func opened(_ token: Substring) -> Substring? {
      let text = token.dropLast(1 + [UInt8].sealCount)
      return token.utf8.dropFirst(text.utf8.count).elementsEqual(seal(of: text)) ? text : nil
    }
  }

  extension [UInt8] {
    static var sealCount: Int { 16 }

    /// Appends a seal in hexadecimal, always with all its digits.
    mutating func append(seal: UInt64) {
      for shift in stride(from: 60, through: 0, by: -4) {
        let digit = UInt8(truncatingIfNeeded: seal >> UInt64(shift) & 15)
        append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
      }
    }
  }
#endif
