import CampanileRelay

/// Where a server is.
struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
  var host: String
  var port: Int
  /// Whether the address asks for TLS.
  var isSecure = false

  /// Without names and passwords.
  var description: String {
    "\(isSecure ? "tls" : "nats")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }

  /// Reads an address, and the authentication in it, if there is one.
  ///
  /// `nats://name:password@host:4222`, `tls://token@host`, `host`
  static func parse(
    _ text: some StringProtocol
  ) throws(NATSAddressError) -> (address: Self, authentication: Authentication) {
    var rest = Substring(text)
    var isSecure = false
    if let end = rest.firstRange(of: "://") {
      switch rest[..<end.lowerBound].lowercased() {
      case "nats": break
      case "tls": isSecure = true
      default:
        throw NATSAddressError(
          "A server of NATS was given with a scheme that is neither nats nor tls.")
      }
      rest = rest[end.upperBound...]
    }
    var authentication = Authentication.none
    if let at = rest.lastIndex(of: "@") {
      let words = rest[..<at].split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let texts = words.map { SubjectName.unescaped($0, isLenient: true) ?? String($0) }
      authentication =
        texts.count == 2
        ? .user(texts[0], password: Secret(texts[1])) : .token(Secret(texts[0]))
      rest = rest[rest.index(after: at)...]
    }
    while rest.last == "/" { rest.removeLast() }
    var port = 4_222
    let afterHost = rest.lastIndex(of: "]") ?? rest.startIndex
    if let colon = rest[afterHost...].lastIndex(of: ":") {
      guard let number = UInt16(rest[rest.index(after: colon)...]), number > 0 else {
        throw NATSAddressError(
          "A server of NATS was given with a port that is no number: an address is like "
            + "nats://user:password@host:4222, and a comma in a password is %2C.")
      }
      port = Int(number)
      rest = rest[..<colon]
    }
    if rest.first == "[", rest.last == "]" { rest = rest.dropFirst().dropLast() }
    guard !rest.isEmpty, !rest.contains(where: { $0.isWhitespace || "/[]".contains($0) }) else {
      throw NATSAddressError(
        "A server of NATS was given without a host: an address is like nats://host:4222.")
    }
    return (Self(host: String(rest), port: port, isSecure: isSecure), authentication)
  }

  /// Whether the host is an address rather than a name.
  var isNumeric: Bool {
    host.contains(":") || host.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
  }
}

/// The error for a text that isn't a valid list of addresses of NATS servers.
public struct NATSAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence that says what is wrong.
  ///
  /// It quotes nothing of the text: where an address is wrong, any part of it may be a password.
  public let description: String
  init(_ description: String) { self.description = description }
}
