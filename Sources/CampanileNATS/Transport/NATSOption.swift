import Campanile
#if NATS
  public import Logging
#endif

/// A setting of a relay on NATS: how it authenticates, encrypts, stores and logs, and how long it waits.
///
/// The description of an option never shows a password, a token or a key.
public struct NATSOption: Sendable, CustomStringConvertible {
  /// The name of the option, with its arguments that are not secret.
  public let description: String
  let apply: @Sendable (inout NATSConfiguration) -> Void

  init(_ description: String, _ apply: @escaping @Sendable (inout NATSConfiguration) -> Void) {
    self.description = description
    self.apply = apply
  }

  // MARK: Authenticating

  /// Authenticates as a user with a password.
  public static func user(_ name: String, password: String) -> Self {
    Self("user(\(name))") { $0.authentication = .user(name, password: Secret(password)) }
  }

  /// Authenticates with a token that the server knows.
  public static func token(_ token: String) -> Self {
    Self("token") { $0.authentication = .token(Secret(token)) }
  }

  #if NKeys
    /// Authenticates with a file of credentials, as the tool `nsc` writes it.
    ///
    /// The relay reads the file at each connection, so you can replace the file at any time. Needs
    /// the trait `NKeys`.
    public static func credentials(_ path: String) -> Self {
      Self("credentials(\(path))") { $0.authentication = .credentials(path: path) }
    }

    /// Authenticates with an NKey, a pair of Ed25519 keys; needs the trait `NKeys`.
    ///
    /// - Parameter seed: The seed of the key, which begins with SU. It stays in this process.
    public static func nkey(seed: String) -> Self {
      Self("nkey") { $0.authentication = .nkey(seed: Secret(seed)) }
    }
  #endif

  /// Sets the prefix of the subjects under which answers arrive.
  ///
  /// The default is `_INBOX`. Give each user of a server its own prefix, such as `_INBOX_screen`,
  /// and the permission to subscribe to that prefix alone, so that no user can read the answers
  /// to another one.
  ///
  /// - Parameter prefix: A subject without wildcards. Do not give messages names that begin with
  /// it, because observers with a wildcard do not receive them.
  /// - Precondition: `prefix` is a name of at most 512 bytes: tokens with dots between them, without
  ///   spaces and without the signs `*` and `>`.
  public static func inboxPrefix(_ prefix: String) -> Self {
    require(
      NATSSubject.isName(prefix) && prefix.utf8.count <= NATSSubject.prefixLimit,
      "\"\(prefix)\" was given as a prefix of inboxes; it takes a subject of at most "
        + "\(NATSSubject.prefixLimit) bytes")
    return Self("inboxPrefix(\(prefix))") { $0.inboxPrefix = prefix }
  }

  // MARK: Storing

  /// Stores posted messages in a JetStream stream, and receives messages from the stream.
  ///
  /// Each message is stored at least once. Each receiver with a name receives each message at
  /// least once, even after a restart of the servers or of the receiver. It acknowledges a
  /// message when each delivery of it has ended, as with `postAndWait`, also if a bounded buffer
  /// or a pause kept the message from an observer. So an observer that must receive each message
  /// needs to have no bound, and an owner that lives as long as the relay. A flush waits until
  /// the stream has stored the earlier posts.
  ///
  /// - Parameters:
  ///   - stream: The name of the stream.
  ///   - subjects: The names or patterns that the stream stores, among them those of all types
  ///     that the relay sends, but not those of requests, because JetStream would answer them.
  ///     The relay creates the stream if the server has none of this name. If `subjects` is
  ///     empty, the stream must exist.
  ///   - replicas: The number of servers in a cluster that store the stream, if the relay creates
  ///     the stream.
  ///   - receiver: A name under which the server records which messages this process has
  ///     received. Only one process may use the name at a time. Without a name, the process
  ///     misses the messages that are posted while it does not run.
  /// - Precondition: `stream` and `receiver` have 1 to 255 characters of ASCII, without dots, spaces,
  ///   slashes and the signs `*` and `>`.
  public static func durable(
    _ stream: String, creating subjects: [String] = [], replicas: Int = 1,
    as receiver: String? = nil
  ) -> Self {
    for name in [stream, receiver ?? stream] {
      require(
        NATSSubject.isName(name) && !name.contains { "./\\".contains($0) }
          && name.utf8.count < 256 && name.utf8.allSatisfy { $0 < 0x7F },
        "\"\(name)\" was given as the name of a stream, or of a receiver; it takes at most 255 "
          + "characters of ASCII, without dots, spaces, slashes and signs * and >")
    }
    return Self("durable(\(stream))") {
      $0.durable = DurableOptions(
        stream: stream, subjects: subjects, replicas: replicas, consumer: receiver)
    }
  }

  // MARK: Encryption

  /// Begins encryption before the server sends anything, for servers with `handshake_first`.
  public static var tlsFirst: Self {
    Self("tlsFirst") {
      $0.tls.isFirst = true
      $0.tls.isRequired = true
    }
  }

  /// Requires encryption, and trusts the certificates in a file, instead of those of the system.
  ///
  /// - Parameter path: A file of certificates in PEM format.
  public static func trusting(_ path: String) -> Self {
    Self("trusting(\(path))") {
      $0.tls.trusted = path
      $0.tls.isRequired = true
    }
  }

  /// Requires encryption, and sends a client certificate to servers that ask for one.
  ///
  /// - Parameters:
  ///   - path: A file of certificates in PEM format; the client's certificate is the first.
  ///   - key: A file with the private key of the client's certificate, in PEM format.
  public static func certificate(_ path: String, key: String) -> Self {
    Self("certificate(\(path))") {
      $0.tls.certificate = path
      $0.tls.key = key
      $0.tls.isRequired = true
    }
  }

  /// Accepts any certificate of a server, which is not safe.
  ///
  /// Anybody between the relay and the server can then read and change every message.
  public static var acceptingAnyCertificate: Self {
    Self("acceptingAnyCertificate") { $0.tls.verifies = false }
  }

  // MARK: Times

  /// Sets how long a server may take to accept the relay, before the relay tries the next one.
  ///
  /// The default is 5 seconds. The relay may take up to a second more to give up.
  ///
  /// - Parameter time: The time. Parts of a second are rounded up.
  /// - Precondition: `time` is from a second to a day.
  public static func connectTimeout(_ time: Duration) -> Self {
    let seconds = seconds(time, "timeout of connections")
    return Self("connectTimeout(\(time))") { $0.connectTimeout = seconds }
  }

  /// Sets the time between two pings, which show that a server does not answer any more.
  ///
  /// If a server sends nothing after two pings in a row, the relay leaves it after two to three
  /// times this time. If it sends other frames but answers none of thirty pings, the relay leaves
  /// it after thirty-one times this time. The default is 10 seconds.
  ///
  /// - Parameter time: The time. Parts of a second are rounded up.
  /// - Precondition: `time` is from a second to a day.
  public static func pingInterval(_ time: Duration) -> Self {
    let seconds = seconds(time, "interval of pings")
    return Self("pingInterval(\(time))") { $0.pingInterval = seconds }
  }

  /// Sets the longest pause after all servers have been tried in vain.
  ///
  /// The first pause is at most a tenth of a second. This limit doubles after each pass over the
  /// servers, up to the given time, which is 2 seconds by default. A pause is random, between
  /// half its limit and its limit, so that many relays do not connect at the same time. After a
  /// connection, the limit is a tenth of a second again.
  ///
  /// - Parameter time: The time. Parts of a second are rounded up.
  /// - Precondition: `time` is from a second to a day.
  public static func reconnectDelay(upTo time: Duration) -> Self {
    let seconds = seconds(time, "delay before connecting again")
    return Self("reconnectDelay(upTo: \(time))") { $0.longestPause = seconds * 1_000 }
  }

  private static func seconds(_ time: Duration, _ name: String) -> Int {
    require(
      time >= .seconds(1) && time <= .seconds(86_400),
      "\(time) was given as the \(name); it takes from a second to a day")
    let (seconds, parts) = time.components
    return Int(seconds) + (parts > 0 ? 1 : 0)
  }

  // MARK: Operations

  /// Tries the servers in the order in which they were given.
  ///
  /// Without this option, the order is random, so that the relays of many processes are
  /// distributed over the servers. Other servers of a cluster, which a server has reported, are
  /// tried after the given ones. After the end of a connection, its server is tried last. Several
  /// addresses of one host name are tried in the order of the system, with or without this
  /// option.
  public static var inGivenOrder: Self { Self("inGivenOrder") { $0.shufflesServers = false } }

  /// Never connects to servers that were not given.
  ///
  /// Without this option, the relay also tries the other servers of a cluster, which a server has
  /// reported, and if it reaches none, also servers that have left the cluster. Use this option
  /// if their addresses can't be reached from this process, or if it must not connect to them.
  public static var onlyGivenServers: Self {
    Self("onlyGivenServers") { $0.usesReportedServers = false }
  }

  #if NATS
    /// Logs connections, disconnections, losses and refusals, without secrets.
    ///
    /// The relay also reports metrics, with or without a logger. Each metric has the name of the
    /// relay as a dimension.
    ///
    /// - The counters are `campanile_nats_connections`, `…_lost_messages`, `…_refused_messages`,
    ///   `…_sent_messages`, `…_received_messages`, `…_sent_bytes` and `…_received_bytes`. They
    ///   count posts, not requests, and a message that is sent again counts again.
    /// - The gauge is `campanile_nats_connected`: 1 with a connection, 0 without one.
    public static func logger(_ logger: Logger) -> Self { Self("logger") { $0.logger = logger } }
  #else
    /// Logs connections, losses and refusals; needs the trait `NATS`.
    public static func logger(_ logger: some Sendable) -> Self { Self("logger") { _ in } }
  #endif

  /// For tests: the server checks more than it needs to.
  package static var pedantic: Self { Self("pedantic") { $0.isPedantic = true } }
}
