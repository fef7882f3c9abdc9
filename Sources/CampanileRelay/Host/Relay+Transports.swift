import Campanile

extension Relay.Transport {
  /// The bus of this name among the processes of the same user on this host.
  ///
  /// There is nothing to install, because one of the relays is the hub, which passes messages on.
  /// When its process dies, another relay becomes the hub at once; when it is stopped, this takes
  /// half a second or more.
  ///
  /// - Parameters:
  ///   - bus: The name.
  ///   - folder: The folder of the user's buses. The default is a folder in `XDG_RUNTIME_DIR`, or
  ///     else in the folder for temporary files. It is created if it is missing, must belong to the
  ///     user, and must be closed to other users. An app and its extensions need a folder in the
  ///     container of their app group. The path of a socket, which is the folder, a slash, the name
  ///     of the bus and 17 more bytes, may have 107 bytes on Linux, and 103 on Apple platforms. If
  ///     the path is relative, don't change the process's working directory.
  ///   - becomesHub: Whether this relay becomes the hub when it joins the bus. Use it in a process
  ///     that runs for a long time and isn't stopped by a debugger.
  public static func host(
    _ bus: String = "default", in folder: String? = nil, becomesHub: Bool = false
  ) -> Self {
    .host(bus, in: folder, becomesHub: becomesHub, silence: SilenceLimits())
  }

  /// A bus of this host, for a process that waits longer for silent processes.
  package static func host(
    _ bus: String, in folder: String?, becomesHub: Bool = false, silence: SilenceLimits
  ) -> Self {
    Self { name, buffering in
      MemberLink(
        .folder(BusFolder(bus: bus, in: folder)), name: name, buffering, wantsHub: becomesHub,
        silence: silence)
    }
  }

  /// The bus of this name inside the process, for tests; other processes cannot see it.
  ///
  /// - Parameter bus: The name.
  public static func loopback(_ bus: String = "default") -> Self {
    .loopback(bus, silence: SilenceLimits())
  }

  package static func loopback(_ bus: String, silence: SilenceLimits) -> Self {
    let bus = LoopbackBus.named(bus)
    return Self { name, buffering in
      MemberLink(.memory(bus), name: name, buffering, silence: silence)
    }
  }

  /// The bus of this process, for tests.
  ///
  /// Tests that run at the same time share it, so give each of them a bus with its own name.
  public static var loopback: Self { loopback() }
}

/// A bus inside the process, while any relay or transport keeps it.
final class LoopbackBus: Sendable {
  let id = UInt64.random(in: 1 ... .max)
  private let hub = Locked<HubServer?>(nil)

  private init() {}

  deinit { hub.withLock { $0 }?.close() }

  private static let known = Locked(WeakTable<String, LoopbackBus>())

  static func named(_ name: String) -> LoopbackBus { known.shared(name, or: LoopbackBus()) }

  /// The hub, which waits for the first member to join, as patient as that is.
  func hub(for member: MemberID, _ silence: SilenceLimits) -> HubServer {
    hub.withLock { hub in
      if let hub { return hub }
      let new = HubServer(
        HubState(
          generation: 1, busID: id, own: member, expected: [], silenceLimit: silence.ofMembers))
      new.start()
      hub = new
      return new
    }
  }
}
