import Foundation

/// Received bytes as text.
enum MessageText {
  static func isJSON(_ bytes: [UInt8]) -> Bool {
    // Foundation also reads other encodings. All of these contain zero bytes.
    if bytes.contains(0) || String(validating: bytes, as: UTF8.self) == nil { return false }
    // It also reads a byte order mark, and a comma after the last element. Neither is JSON.
    if bytes.starts(with: "\u{FEFF}".utf8) || hasTrailingComma(bytes) { return false }
    return (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
  }

  private static func hasTrailingComma(_ bytes: [UInt8]) -> Bool {
    var isInText = false
    var isEscaped = false
    var last: UInt8?
    for byte in bytes {
      switch UnicodeScalar(byte) {
      case _ where isEscaped: isEscaped = false
      case "\\" where isInText: isEscaped = true
      case "\"": isInText.toggle()
      case " ", "\t", "\r", "\n": continue
      case "]" where !isInText && last == UInt8(ascii: ","): return true
      case "}" where !isInText && last == UInt8(ascii: ","): return true
      default: break
      }
      last = byte
    }
    return false
  }

  /// JSON on one line, otherwise unchanged; `nil` for other bytes.
  static func json(_ bytes: [UInt8]) -> String? {
    if !isJSON(bytes) { return nil }
    // In JSON, line ends and tabs are white space.
    let spaces: Set<UInt8> = [0x09, 0x0A, 0x0D]
    return String(decoding: bytes.map { spaces.contains($0) ? 0x20 : $0 }, as: UTF8.self)
  }

  static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  /// Readable text.
  ///
  /// JSON remains JSON. Bytes that are not UTF-8 are written in base64.
  static func readable(_ bytes: [UInt8]) -> String {
    if let json = json(bytes) { return escaping(json, jsonEscape) }
    return String(validating: bytes, as: UTF8.self).map(printable) ?? "base64:" + base64(bytes)
  }

  /// The text, with control characters escaped.
  static func printable(_ text: String) -> String {
    escaping(text) { "\\u{" + String($0.value, radix: 16) + "}" }
  }

  private static func escaping(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: result += escape(scalar)
      default: result.unicodeScalars.append(scalar)
      }
    }
  }

  /// The escape of a character in a JSON string: outside of strings, JSON on one line has none.
  private static func jsonEscape(_ scalar: Unicode.Scalar) -> String {
    UTF16.encode(scalar)!.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
  }

  /// A text as a JSON string.
  static func quoted(_ text: String) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    // A string can always be encoded.
    return String(decoding: try! encoder.encode(text), as: UTF8.self)
  }
}
