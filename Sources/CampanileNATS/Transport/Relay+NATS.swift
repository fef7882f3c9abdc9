#if NATS
  public import CampanileRelay

  extension Relay.Transport {
    /// Connects through NATS servers, on any hosts.
    ///
    /// ```swift
    /// let relay = Relay(.nats("nats://a,nats://b", .trusting("/etc/player/ca.pem")))
    /// ```
    ///
    /// A server reports the other servers of its cluster, which the relay tries too; if it reaches
    /// none, it also tries servers that have left the cluster. The option
    /// ``NATSOption/onlyGivenServers`` prevents both. The relay never stops trying to connect.
    ///
    /// - Parameters:
    ///   - servers: Addresses with commas between them: `nats://host:4222`, or `tls://host` for a
    ///     connection that must be encrypted. The default port is 4222. An address may contain a
    ///     name and a password, `nats://name:password@host`, or a token, `nats://token@host`. The
    ///     relay uses them for all its servers, so addresses with different ones are invalid. If an
    ///     address is invalid, the relay does not connect until `reconnect(to:)` has given it other
    ///     ones, and its state is ``/CampanileRelay/RelayState/unavailable(_:)`` with the reason.
    ///   - options: How the relay authenticates, encrypts, stores and logs.
    public static func nats(_ servers: String, _ options: NATSOption...) -> Self {
      nats(servers, options: options)
    }

    /// A transport with an array of options.
    package static func nats(_ servers: String, options: [NATSOption]) -> Self {
      Self { name, buffering in
        var configuration = NATSConfiguration()
        do throws(NATSAddressError) {
          configuration = try NATSConfiguration(servers: servers)
        } catch {
          configuration.mistake = error.description
        }
        for option in options { option.apply(&configuration) }
        return NATSLink(configuration, name: name, buffering)
      }
    }
  }

  extension Relay {
    /// Closes the connection to the NATS server, and connects again.
    ///
    /// ```swift
    /// relay.reconnect()  // the certificates have been replaced
    /// ```
    ///
    /// Use it after credentials have changed, or to distribute relays over servers again. The call
    /// returns at once, from any thread. The relay connects as after a lost connection: it tries
    /// the other servers first, reads its credentials again, and subscribes again, also to names
    /// that a server has denied.
    ///
    /// No message that was posted is lost, because the relay sends waiting and unconfirmed messages
    /// on the next connection, for which flushes wait. Messages that other relays send before that
    /// connection are lost, unless a stream stores them, and are counted like those of any gap.
    /// Requests of others, and messages to a group that no stream stores, are not counted if they
    /// are lost on their way to the relay; while it changes servers, that may be those of seconds.
    /// Open requests end with ``/CampanileRelay/RelayError/Code/disconnected``.
    ///
    /// Without a connection, the relay gives up an attempt that has begun, and tries the next
    /// server: at once or, if it has tried all servers, after a pause. On another transport, and
    /// after the relay has ended, the call has no effect.
    public func reconnect() { (link as? NATSLink)?.reconnect() }

    /// Replaces the list of servers, closes the connection, and connects to one of the new list.
    ///
    /// ```swift
    /// try relay.reconnect(to: "nats://c,nats://d")  // the cluster has moved
    /// ```
    ///
    /// The call returns at once, from any thread. On another transport, and after the relay has ended, it
    /// only checks the addresses.
    ///
    /// The list replaces the servers that were given before, and those that servers have reported.
    /// The relay leaves its server even if the list contains it. Otherwise the call is like
    /// ``reconnect()``: no message that was posted is lost, and the options apply as before. With
    /// one server in the list, you choose the server. Other servers of its cluster, which it
    /// reports, are tried after the connection ends, unless the option
    /// ``NATSOption/onlyGivenServers`` is set.
    ///
    /// If the relay uses a stream, and another cluster has a stream of the same name, the relay
    /// receives all messages that are stored there.
    ///
    /// - Parameter servers: Addresses as for ``Transport/nats(_:_:)``. The relay then authenticates
    /// with the name, the password or the token in them, if there are any.
    /// - Throws: ``NATSAddressError`` if the text is empty or has an invalid address. Then nothing
    ///   changes.
    public func reconnect(to servers: String) throws(NATSAddressError) {
      let configuration = try NATSConfiguration(servers: servers)
      (link as? NATSLink)?.reconnect(to: configuration)
    }
  }
#endif
