#if NATS
  import Logging
#endif

/// How a relay reaches its servers.
struct NATSConfiguration: Sendable {
  var servers: [ServerAddress] = []
  /// Why the addresses of the servers are invalid: the relay connects only once it is given others.
  var mistake: String?
  /// Whether the servers are tried in a random order.
  var shufflesServers = true
  /// Whether servers that other servers have reported are tried too.
  var usesReportedServers = true
  /// The times in seconds: how long a server has to accept the relay, and between two pings.
  var (connectTimeout, pingInterval) = (5, 10)
  /// The longest pause between two rounds of attempts, in milliseconds.
  var longestPause = 2_000
  var authentication = Authentication.none
  var tls = TLSOptions()
  var inboxPrefix = "_INBOX"
  /// Whether the server checks more than it needs to; for tests.
  var isPedantic = false
  var durable: DurableOptions?
  #if NATS
    var logger: Logger?
  #endif

  /// A configuration without servers, for options.
  init() {}

  /// - Parameter servers: Addresses with commas between them.
  init(servers text: String) throws(NATSAddressError) {
    for word in text.split(separator: ",") {
      let (address, authentication) = try ServerAddress.parse(word.trimming(\.isWhitespace))
      servers.append(address)
      if authentication == .none { continue }
      if ![.none, authentication].contains(self.authentication) {
        throw NATSAddressError(
          "Servers of NATS were given with different names, passwords or tokens; a relay has one "
            + "for all its servers.")
      }
      self.authentication = authentication
    }
    guard !servers.isEmpty else {
      throw NATSAddressError(
        "No server of NATS was given: an address is like nats://host:4222.")
    }
  }

  /// The place in the paths of messages, the same for all relays that name the same servers.
  ///
  /// A relay whose servers are invalid may be given any others, so it has a place of its own.
  var step: UInt64 {
    if mistake != nil { return .random(in: 1 ... .max) }
    return fnv1a(Set(servers.map(\.description)).sorted().joined(separator: ","))
  }
}

/// A number for a text, which is the same in each process.
func fnv1a(_ text: String) -> UInt64 {
  text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}
