public import Campanile

/// Carries messages between the message centers of several processes.
///
/// ```swift
/// let relay = Relay(.host("player"), name: "screen")
/// relay.carry(TrackChanged.self, in: center)
/// center.post(TrackChanged(title: "Aria"))  // heard in each process that carries the type
/// ```
///
/// ## Behavior
///
/// The initializer returns at once, and the relay connects in the background; messages that are
/// posted before are stored and sent later. Nothing needs to be installed, and all processes are
/// equal.
///
/// - **Order.** Each process receives the messages of one relay in the order in which they were
///   posted, across all types. On one host, no process receives an answer before its question.
/// - **Delivery.** A message is received at most once. When a process dies, the living processes
///   lose nothing. If a process reads nothing for a while, it loses the messages that exceed its
///   buffer. Each loss is reported in ``events``, with the number of messages if it is known.
/// - **Echo.** A message never returns to a center that it has passed through, however many relays
///   and bridges of notification centers carry it. If two relays on one bus carry a type in one
///   center, each message is sent twice.
/// - **Thread.** The relay posts arriving messages on its own queue. Any thread can post, and takes
///   a lock for a moment. Another thread encodes the message, once for each post.
/// - **Lifetime.** Keep the relay for as long as it should carry messages, because its release ends
///   it, as ``cancel()`` does. Make one relay for each bus, and share it among all modules.
public final class Relay: Sendable {
  /// The name that other relays see.
  public let name: String
  let core: RelayCore

  /// The name of the program.
  private static let processName: String = {
    let path = CommandLine.arguments.first ?? ""
    return path.split(separator: "/").last.map(String.init) ?? "process"
  }()

  /// Creates a relay that carries nothing yet, and begins to connect it.
  ///
  /// - Parameters:
  ///   - transport: The connection to other relays.
  ///   - name: The name that other relays see, of at most 1,024 bytes in UTF-8. The default is the
  ///     name of the process.
  ///   - buffering: How many bytes are stored for a process that does not read, including this one,
  ///     and whether the oldest or the newest messages are dropped beyond that.
  public init(
    _ transport: Transport, name: String? = nil, buffering: RelayBuffering = .newest()
  ) {
    self.name = name ?? Self.processName
    let byteCount = self.name.utf8.count
    require(
      byteCount <= Peer.nameLimit,
      "A relay was given a name of \(byteCount) bytes; it takes \(Peer.nameLimit) at the most"
    )
    core = RelayCore(transport.makeLink(self.name, buffering), buffering)
    core.link.start(core)
  }

  deinit { cancel() }

  /// The link that carries the messages.
  package var link: any RelayLink { core.link }

  // MARK: Looking

  /// The state of the connection.
  ///
  /// Its last value is ``RelayState/ended``. Sequences of its changes do not end before the relay
  /// is released, so leave a loop at that value.
  public var state: ReadOnlyState<RelayState> { core.state.readOnly }

  /// The other relays on the bus, ordered by name.
  ///
  /// A process that is stopped stays in the list, unless another process becomes the hub; then it
  /// is missing until it runs again. When the relay ends, the list is empty. Sequences of its
  /// changes do not end before the relay is released.
  public var peers: ReadOnlyState<[RelayPeer]> { core.peers.readOnly }

  /// Reports losses, refusals, and messages that cannot be decoded.
  ///
  /// Observers are called on the relay's queue, in order with the messages that it posts. After the
  /// relay has ended and the last event is delivered, observations and sequences of the events end.
  public var events: Signal<RelayEvent> { core.events.signal }

  /// The number of messages of this relay that no other relay received.
  ///
  /// No other relay carried their type inward, or a group that had shared such messages before had
  /// no connected relay; see ``RelayFilter/oneOf(_:)``.
  public var unheard: ReadOnlyState<Int> { core.unheard.readOnly }

  // MARK: Waiting

  /// Waits until the other processes know the carried types, and have the earlier posts.
  ///
  /// On a host, it returns when each process on the bus that is not stopped has the messages. Without
  /// a connection, it waits for one.
  ///
  /// - Throws: `CancellationError` if the task is canceled; a ``RelayError`` if the relay has ended.
  public func flush() async throws { try await core.flush() }

  // MARK: Ending

  /// Sends the messages posted so far, posts the messages that have arrived, and ends the relay.
  ///
  /// Requests that have arrived are answered first; later ones are refused. Inside an answer, the
  /// call waits for no answers, and inside an asynchronous observer, for no observers.
  ///
  /// Messages of carried types that are posted after this call begins are not carried. While the
  /// state is ``RelayState/connecting``, the call waits. If the state is, or becomes,
  /// ``RelayState/unavailable(_:)``, messages that have not been sent are discarded without an
  /// event; to wait for a connection in that state, call ``flush()`` first. If the task is
  /// canceled, the call waits only for the observers of messages that have arrived, and may discard
  /// messages too. The call has no time limit, so if the program must end, call ``cancel()``. On
  /// one host, an answer of the hub must be written within half a second.
  public func drain() async {
    core.carried.endOutward()
    core.stopAnswering()
    core.endHearing()
    await core.sendPosts()
    await core.finishDeliveries()
    await core.finishCalls()
    // The answers, and acknowledgments.
    await core.sendPosts()
    cancel()
  }

  /// Ends the relay at once, and discards messages that have not been sent.
  ///
  /// After this method has returned, the relay posts nothing more, except a message whose delivery
  /// has begun. That message may still reach its observers. A second call does nothing.
  public func cancel() { core.cancel() }
}

extension Relay {
  /// The connection between relays.
  public struct Transport: Sendable {
    let makeLink: @Sendable (_ name: String, _ buffering: RelayBuffering) -> any RelayLink

    package init(
      _ makeLink: @escaping @Sendable (_ name: String, RelayBuffering) -> any RelayLink
    ) {
      self.makeLink = makeLink
    }
  }

  /// The directions in which messages of a type are carried.
  public enum Direction: Sendable, Hashable {
    /// Messages posted here reach the other processes, and their messages are posted here.
    case bothWays
    /// Messages of other processes are posted here. Messages posted here stay here.
    case inward
    /// Messages posted here reach the other processes. Their messages are not posted here.
    case outward
  }
}
