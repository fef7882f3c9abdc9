#if NATS
  public import Logging

  /// Who a relay is for servers of NATS, and how it connects.
  ///
  /// No description of it shows a password, a token or a key.
  public struct NATSOption: Sendable, CustomStringConvertible {
    /// What the option is about.
    public let description: String
    let apply: @Sendable (inout NATSConfiguration) -> Void

    init(_ description: String, _ apply: @escaping @Sendable (inout NATSConfiguration) -> Void) {
      self.description = description
      self.apply = apply
    }

    // MARK: Who to be

    /// The user of a file of credentials, as `nsc` writes it.
    ///
    /// The file is read at each connection, so that it can be renewed.
    public static func credentials(_ path: String) -> Self {
      Self("credentials(\(path))") { $0.authentication = .credentials(path: path) }
    }

    /// A user with a password.
    public static func user(_ name: String, password: String) -> Self {
      Self("user(\(name))") { $0.authentication = .user(name, password: Secret(password)) }
    }

    /// Whoever knows a token.
    public static func token(_ token: String) -> Self {
      Self("token") { $0.authentication = .token(Secret(token)) }
    }

    /// The user of a key.
    ///
    /// - Parameter seed: The seed of the key, which begins with SU. It stays in this process.
    public static func nkey(seed: String) -> Self {
      Self("nkey") { $0.authentication = .nkey(seed: Secret(seed)) }
    }

    /// The prefix of the subjects on which answers come, where a server permits no other than one's
    /// own; `_INBOX` unless said.
    public static func inboxPrefix(_ prefix: String) -> Self {
      precondition(
        NATSSubject.isName(prefix),
        "\"\(prefix)\" was given as a prefix of inboxes; it is no subject")
      return Self("inboxPrefix(\(prefix))") { $0.inboxPrefix = prefix }
    }

    // MARK: Storing

    /// What is posted is stored by a stream of JetStream, and heard from there.
    ///
    /// Each message is stored once, and heard at least once by each receiver that has a name, also
    /// after a restart of the servers or of the receiver. A flush waits until the stream has stored
    /// what was posted.
    ///
    /// - Parameters:
    ///   - stream: The name of the stream.
    ///   - subjects: What it stores, if it is to be created unless there is one: names, or patterns.
    ///   - replicas: How many servers of a cluster keep it, if it is created.
    ///   - receiver: A name under which the server keeps how much has been heard. It belongs to one
    ///     process at a time. Without it, what is posted while the process doesn't run is not heard.
    public static func durable(
      _ stream: String, creating subjects: [String] = [], replicas: Int = 1,
      as receiver: String? = nil
    ) -> Self {
      for name in [stream, receiver ?? stream] {
        precondition(
          NATSSubject.isName(name) && !name.contains { "./\\".contains($0) },
          "\"\(name)\" was given as the name of a stream, or of a receiver; it takes no dots, spaces, "
            + "slashes and signs * and >")
      }
      return Self("durable(\(stream))") {
        $0.durable = DurableOptions(
          stream: stream, subjects: subjects, replicas: replicas, consumer: receiver)
      }
    }

    // MARK: Encryption

    /// Encryption begins before the server says anything, as `handshake_first` asks for.
    public static var tlsFirst: Self {
      Self("tlsFirst") {
        $0.tls.isFirst = true
        $0.tls.isRequired = true
      }
    }

    /// The certificates to trust, instead of those of the system.
    ///
    /// - Parameter path: A file of certificates as PEM.
    public static func trusting(_ path: String) -> Self {
      Self("trusting(\(path))") { $0.tls.trusted = path }
    }

    /// The certificate of the client, for servers that ask for one.
    ///
    /// - Parameters:
    ///   - path: A file of certificates as PEM, the client's first.
    ///   - key: A file with its key as PEM.
    public static func certificate(_ path: String, key: String) -> Self {
      Self("certificate(\(path))") {
        $0.tls.certificate = path
        $0.tls.key = key
      }
    }

    /// Takes any certificate of a server: whoever is between can read and change everything.
    public static var acceptingAnyCertificate: Self {
      Self("acceptingAnyCertificate") { $0.tls.verifies = false }
    }

    // MARK: Operations

    /// Where connections, their ends, losses and refusals are logged, without secrets.
    ///
    /// The same is counted in the program's metrics, each with the name of the relay: the counters
    /// `campanile_nats_connections`, `…_lost_messages`, `…_refused_messages`, `…_sent_bytes` and
    /// `…_received_bytes`, and the gauge `campanile_nats_connected`.
    public static func logger(_ logger: Logger) -> Self { Self("logger") { $0.logger = logger } }

    /// For tests: the server checks more than it needs to.
    package static var pedantic: Self { Self("pedantic") { $0.isPedantic = true } }
  }
#endif
