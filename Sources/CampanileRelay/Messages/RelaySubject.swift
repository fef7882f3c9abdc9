import Campanile

/// The name under which messages of a type travel.
///
/// ```swift
/// static let relaySubject: RelaySubject<Self> = "player.track.changed"
///
/// static let relaySubject: RelaySubject<Self> = "bell.\(\.tower).ring"
/// ```
///
/// A name consists of tokens with dots between them. A key path makes one whole token: the value of
/// the message at that key path, with special characters escaped. Text or another key path in the
/// same token is a precondition failure. The name is not derived from the name of the type, so you
/// can rename the type.
public struct RelaySubject<Message: Sendable>: Sendable, ExpressibleByStringInterpolation {
  enum Part: Sendable {
    case text(String)
    case field(any PartialKeyPath<Message> & Sendable, @Sendable (Message) -> String)
  }

  let parts: [Part]
  /// The names of all messages of the type.
  let pattern: String

  /// Creates a name without key paths.
  public init(stringLiteral text: String) { self.init([.text(text)]) }

  /// Creates a name of text and key paths.
  public init(stringInterpolation: StringInterpolation) { self.init(stringInterpolation.parts) }

  private init(_ parts: [Part]) {
    self.parts = parts
    pattern = Self.pattern(parts, where: [:])
    let isPlain = parts.allSatisfy {
      if case .text(let text) = $0 { !text.contains { "*>%".contains($0) } } else { true }
    }
    require(
      isPlain && (try? SubjectPattern(validating: pattern)) != nil,
      "A relay subject was written as \"\(pattern)\", where * is a key path; it takes tokens with dots "
        + "between them, each a key path, or text without spaces and without the signs * > %")
  }

  /// The names of all messages of the type that say `values` at these key paths.
  func pattern(where values: [AnyKeyPath: String]) -> String { Self.pattern(parts, where: values) }

  private static func pattern(_ parts: [Part], where values: [AnyKeyPath: String]) -> String {
    parts.reduce(into: "") { pattern, part in
      switch part {
      case .text(let text): pattern += text
      case .field(let keyPath, _): pattern += values[keyPath].map(SubjectName.escaped) ?? "*"
      }
    }
  }

  /// The name under which a message travels.
  func name(of message: Message) -> String {
    if parts.count == 1, case .text(let text) = parts[0] { return text }
    return parts.reduce(into: "") { name, part in
      switch part {
      case .text(let text): name += text
      case .field(_, let read): name += SubjectName.escaped(read(message))
      }
    }
  }

  /// Whether a key path is one of its tokens.
  func has(_ keyPath: AnyKeyPath) -> Bool {
    parts.contains {
      if case .field(let field, _) = $0 { field == keyPath } else { false }
    }
  }

  /// The text and the key paths of an interpolated name.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var parts: [Part] = []

    /// Creates an empty interpolation.
    public init(literalCapacity: Int, interpolationCount: Int) {
      parts.reserveCapacity(2 * interpolationCount + 1)
    }

    /// Adds text.
    public mutating func appendLiteral(_ literal: String) {
      if !literal.isEmpty { parts.append(.text(literal)) }
    }

    /// Adds the value of each message at a key path.
    public mutating func appendInterpolation<Value: LosslessStringConvertible & Sendable>(
      _ keyPath: any KeyPath<Message, Value> & Sendable
    ) {
      parts.append(.field(keyPath) { $0[keyPath: keyPath].description })
    }
  }
}

/// Names of messages and patterns of names, as text.
package enum SubjectName {
  /// The token for a text, without characters that are special in a name.
  ///
  /// Letters, digits, hyphens and underscores of ASCII stay. Each other byte of the UTF-8 becomes a
  /// percent sign and two hexadecimal digits. The token of an empty text is a percent sign.
  package static func escaped(_ text: String) -> String {
    if text.isEmpty { return "%" }
    if text.utf8.allSatisfy(isPlain) { return text }
    return text.utf8.reduce(into: "") { token, byte in
      if isPlain(byte) {
        token.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        token += digits.count == 1 ? "%0" + digits : "%" + digits
      }
    }
  }

  /// The text of a token, or `nil` if its percent signs do not encode UTF-8.
  ///
  /// - Parameter isLenient: Whether other percent signs stand for themselves.
  package static func unescaped(_ token: Substring, isLenient: Bool = false) -> String? {
    if token == "%", !isLenient { return "" }
    var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], token.utf8[...])
    while let byte = rest.popFirst() {
      // A number may have a sign, and an escape may not.
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        rest.prefix(2).allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
        let value = UInt8(Substring(rest.prefix(2)), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else if byte == UInt8(ascii: "%"), !isLenient {
        return nil
      } else {
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// The name of a group, if it can be one.
  package static func checkedGroup(_ name: String) -> String {
    require(
      (1...256).contains(name.utf8.count),
      "A group was named \"\(name)\"; its name takes 1 to 256 bytes in UTF-8")
    return name
  }

  static func check(_ text: String, _ what: String) {
    require(
      isName(text),
      "\(what) to \"\(text)\"; a name has tokens with dots between them, without spaces and without "
        + "the signs * and >")
  }

  /// Whether text is the name of one message.
  package static func isName(_ text: String) -> Bool {
    // Each post of bytes asks, so nothing is allocated.
    var isTokenEmpty = true
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "."):
        if isTokenEmpty { return false }
        isTokenEmpty = true
      case 0...0x20, 0x7F, UInt8(ascii: "*"), UInt8(ascii: ">"): return false
      default: isTokenEmpty = false
      }
    }
    return !isTokenEmpty
  }
}
