#if !NATS
  public import CampanileRelay

  extension Relay.Transport {
    /// Connects through NATS servers, on any hosts; needs the trait `NATS`.
    @available(
      *, unavailable,
      message: "the trait NATS is off: write .package(url: …, traits: [.defaults, \"NATS\"])"
    )
    public static func nats(_ servers: String, _ options: NATSOption...) -> Self {
      fatalError("The trait NATS is off, so that there is no client of NATS")
    }
  }

  @available(
    *, unavailable,
    message: "the trait NATS is off: write .package(url: …, traits: [.defaults, \"NATS\"])"
  )
  extension Relay {
    /// Closes the connection to the NATS server, and connects again; needs the trait `NATS`.
    public func reconnect() {}

    /// Replaces the list of servers, and connects to one of the new list; needs the trait `NATS`.
    public func reconnect(to servers: String) throws(NATSAddressError) {}
  }

  /// The error for a text that isn't a valid list of addresses; needs the trait `NATS`.
  @available(
    *, unavailable,
    message: "the trait NATS is off: write .package(url: …, traits: [.defaults, \"NATS\"])"
  )
  public struct NATSAddressError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence that says what is wrong; needs the trait `NATS`.
    public let description: String
  }

  /// A setting of a relay on NATS; needs the trait `NATS`.
  @available(
    *, unavailable,
    message: "the trait NATS is off: write .package(url: …, traits: [.defaults, \"NATS\"])"
  )
  public struct NATSOption: Sendable {
    /// Authenticates with a file of credentials; needs the trait `NATS`.
    public static func credentials(_ path: String) -> Self { Self() }

    /// Authenticates as a user with a password; needs the trait `NATS`.
    public static func user(_ name: String, password: String) -> Self { Self() }

    /// Authenticates with a token; needs the trait `NATS`.
    public static func token(_ token: String) -> Self { Self() }

    /// Authenticates with an NKey; needs the trait `NATS`.
    public static func nkey(seed: String) -> Self { Self() }

    /// Sets the prefix of the subjects under which answers arrive; needs the trait `NATS`.
    public static func inboxPrefix(_ prefix: String) -> Self { Self() }

    /// Stores posted messages in a JetStream stream; needs the trait `NATS`.
    public static func durable(
      _ stream: String, creating subjects: [String] = [], replicas: Int = 1,
      as receiver: String? = nil
    ) -> Self { Self() }

    /// Begins encryption before the server sends anything; needs the trait `NATS`.
    public static var tlsFirst: Self { Self() }

    /// Trusts the certificates in a file; needs the trait `NATS`.
    public static func trusting(_ path: String) -> Self { Self() }

    /// Sends a client certificate to servers that ask for one; needs the trait `NATS`.
    public static func certificate(_ path: String, key: String) -> Self { Self() }

    /// Accepts any certificate of a server, which is not safe; needs the trait `NATS`.
    public static var acceptingAnyCertificate: Self { Self() }

    /// Sets how long a server may take to accept the relay; needs the trait `NATS`.
    public static func connectTimeout(_ time: Duration) -> Self { Self() }

    /// Sets the time between two pings; needs the trait `NATS`.
    public static func pingInterval(_ time: Duration) -> Self { Self() }

    /// Sets the longest pause after all servers have been tried in vain; needs the trait `NATS`.
    public static func reconnectDelay(upTo time: Duration) -> Self { Self() }

    /// Tries the servers in the order in which they were given; needs the trait `NATS`.
    public static var inGivenOrder: Self { Self() }

    /// Never connects to servers that were not given; needs the trait `NATS`.
    public static var onlyGivenServers: Self { Self() }

    /// Logs connections, losses and refusals; needs the trait `NATS`.
    public static func logger(_ logger: some Sendable) -> Self { Self() }
  }
#endif

#if NATS && !NKeys
  @available(
    *, unavailable,
    message: "the trait NKeys is off: write .package(url: …, traits: [.defaults, \"NKeys\"])"
  )
  extension NATSOption {
    /// Authenticates with a file of credentials; needs the trait `NKeys`.
    public static func credentials(_ path: String) -> Self { Self("") { _ in } }

    /// Authenticates with an NKey; needs the trait `NKeys`.
    public static func nkey(seed: String) -> Self { Self("") { _ in } }
  }
#endif
