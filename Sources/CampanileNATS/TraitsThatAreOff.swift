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
#endif

#if !NKeys
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
