#if NATS
  public import CampanileRelay
  import Dispatch

  extension Relay.Transport {
    /// Servers of NATS, on any hosts.
    ///
    /// ```swift
    /// let relay = Relay(.nats("nats://a,nats://b", .credentials("/etc/player.creds")))
    /// ```
    ///
    /// Servers tell of others of their cluster, which are tried too. Without a connection the relay
    /// tries for ever.
    ///
    /// - Parameters:
    ///   - servers: Addresses with commas between them: `nats://host:4222`, or `tls://host` for a
    ///     connection that must be encrypted. An address may say who to be:
    ///     `nats://name:password@host`. What is no address is the reason of
    ///     ``/CampanileRelay/RelayState/unavailable(_:)``.
    ///   - options: Who to be, and how to connect.
    public static func nats(_ servers: String, _ options: NATSOption...) -> Self {
      Self { name, buffering in
        do throws(ServerAddressError) {
          var configuration = try NATSConfiguration(servers: servers)
          for option in options { option.apply(&configuration) }
          return NATSLink(configuration, name: name, buffering)
        } catch {
          return BrokenLink(error.description)
        }
      }
    }
  }

  /// A link without an address: it says so, and never connects.
  private final class BrokenLink: RelayLink {
    let queue = DispatchQueue(label: "campanile.relay.nats")
    let step: UInt64 = 0
    private let reason: String

    init(_ reason: String) { self.reason = reason }

    func start(_ receiver: any RelayReceiver) {
      queue.async { [reason] in receiver.receive(.disconnected(reason)) }
    }

    func perform(_ operations: [RelayOperation]) {}
    func setReading(_ reads: Bool) {}
    func stop() {}
  }
#endif
