#if !NATS
  public import CampanileRelay

  extension Relay.Transport {
    /// Servers of NATS, on any hosts; needs the trait `NATS`.
    @available(
      *, unavailable,
      message:
        "the trait NATS is off: write .package(url: …, from: …, traits: [.defaults, \"NATS\"])"
    )
    public static func nats(_ servers: String, _ options: NATSOption...) -> Self {
      preconditionFailure("The trait NATS is off, so that there is no client of NATS")
    }
  }

  /// Who a relay is for servers of NATS, and how it connects; needs the trait `NATS`.
  @available(
    *, unavailable,
    message: "the trait NATS is off: write .package(url: …, from: …, traits: [.defaults, \"NATS\"])"
  )
  public struct NATSOption: Sendable {
    /// The user of a file of credentials; needs the trait `NATS`.
    public static func credentials(_ path: String) -> Self { Self() }

    /// A user with a password; needs the trait `NATS`.
    public static func user(_ name: String, password: String) -> Self { Self() }

    /// Whoever knows a token; needs the trait `NATS`.
    public static func token(_ token: String) -> Self { Self() }

    /// The user of a key; needs the trait `NATS`.
    public static func nkey(seed: String) -> Self { Self() }

    /// The prefix of the subjects on which answers come; needs the trait `NATS`.
    public static func inboxPrefix(_ prefix: String) -> Self { Self() }

    /// What is posted is stored by a stream of JetStream; needs the trait `NATS`.
    public static func durable(
      _ stream: String, creating subjects: [String] = [], replicas: Int = 1,
      as receiver: String? = nil
    ) -> Self { Self() }

    /// Encryption begins before the server says anything; needs the trait `NATS`.
    public static var tlsFirst: Self { Self() }

    /// The certificates to trust; needs the trait `NATS`.
    public static func trusting(_ path: String) -> Self { Self() }

    /// The certificate of the client; needs the trait `NATS`.
    public static func certificate(_ path: String, key: String) -> Self { Self() }

    /// Takes any certificate of a server; needs the trait `NATS`.
    public static var acceptingAnyCertificate: Self { Self() }
  }
#endif
