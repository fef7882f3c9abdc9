import Campanile

extension Relay.Transport {
  /// The bus of this name among the processes of the same user on this host.
  ///
  /// There is nothing to install. One of the processes passes messages on; when it dies or is
  /// stopped, another one does within half a second.
  ///
  /// - Parameters:
  ///   - bus: The name.
  ///   - folder: Where the buses of the user are; a folder in `XDG_RUNTIME_DIR`, or else in the
  ///     folder for temporary files, unless said. It must belong to the user, and nobody else may
  ///     reach into it.
  ///   - becomesHub: Whether this process takes over, once, from the one that passes messages on.
  ///     For a process that is never stopped, not by a debugger either.
  public static func host(
    _ bus: String = "default", in folder: String? = nil, becomesHub: Bool = false
  ) -> Self {
    Self { name, buffering in
      MemberLink(
        .folder(BusFolder(bus: bus, in: folder)), name: name, buffering, wantsHub: becomesHub)
    }
  }

  /// The bus of this name inside the process, for tests: nothing of it can be seen from outside.
  ///
  /// - Parameter bus: The name.
  public static func loopback(_ bus: String = "default") -> Self {
    let bus = LoopbackBus.named(bus)
    return Self { name, buffering in MemberLink(.memory(bus), name: name, buffering) }
  }

  /// The bus of this process, for tests.
  public static var loopback: Self { loopback() }
}

/// A bus inside the process, while any relay or transport keeps it.
final class LoopbackBus: Sendable {
  let id = UInt64.random(in: 1 ... .max)
  private let hub = Locked<HubServer?>(nil)

  private init() {}

  deinit { hub.withLock { $0 }?.close() }

  private struct Known {
    weak var bus: LoopbackBus?
  }

  private static let known = Locked<[String: Known]>([:])

  static func named(_ name: String) -> LoopbackBus {
    known.withLock { known in
      if let bus = known[name]?.bus { return bus }
      let bus = LoopbackBus()
      known = known.filter { $0.value.bus != nil }
      known[name] = Known(bus: bus)
      return bus
    }
  }

  /// The hub, which waits for the first member to join.
  func hub(for member: MemberID) -> HubServer {
    hub.withLock { hub in
      if let hub { return hub }
      let new = HubServer(busID: id, own: member)
      new.start()
      hub = new
      return new
    }
  }
}
