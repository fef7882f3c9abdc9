public import Campanile

/// Carries messages between a message center and those of other processes.
///
/// ```swift
/// let relay = Relay(.host("player"), name: "screen")
/// relay.carry(TrackChanged.self, in: center)
/// center.post(TrackChanged(title: "Aria"))  // heard in each process that carries the type
/// ```
///
/// ## Behavior
///
/// A relay returns at once and connects behind. What is posted meanwhile is kept, and sent then.
/// Nothing is to be installed, and no process is special.
///
/// - **Order.** What one relay sends, each process hears in the order in which it was posted, over
///   all types. On one host, nobody hears an answer before its question.
/// - **Delivery.** Once at most. A process that lives loses nothing by the death of another one. A
///   process that takes nothing for a while loses what is more than the buffer holds; each loss is
///   reported in ``events``, with its number.
/// - **Echo.** Nothing comes back to a center that it has come through, along however many relays
///   and bridges. A type that two relays on one bus carry in one center is sent twice.
/// - **Thread.** What comes is posted on a queue of the relay's own. To post from there or from
///   anywhere takes a lock; encoding happens elsewhere, once for each post.
///
/// Releasing the relay ends it, as ``cancel()`` does.
public final class Relay: Sendable {
  /// The name that others see.
  public let name: String
  let core: RelayCore

  /// Creates a relay that carries nothing yet, and begins to connect it.
  ///
  /// - Parameters:
  ///   - transport: What connects it with others.
  ///   - name: A name for others to see; that of the process unless said.
  ///   - buffering: What is kept for others that do not take it, and for this process.
  public init(
    _ transport: Transport, name: String? = nil, buffering: RelayBuffering = .newest()
  ) {
    self.name = name ?? ProcessName.own
    core = RelayCore(transport.makeLink(self.name, buffering), buffering)
    core.link.start(core)
  }

  deinit { cancel() }

  // MARK: Looking

  /// Whether there is a connection.
  public var state: ReadOnlyState<RelayState> { core.state.readOnly }

  /// Who else is on the bus, in the order of their names.
  public var peers: ReadOnlyState<[RelayPeer]> { core.peers.readOnly }

  /// Losses, refusals, and messages that cannot be decoded.
  ///
  /// Observers are called on the relay's queue, in order with the messages that it posts.
  public var events: Signal<RelayEvent> { core.events.signal }

  // MARK: Waiting

  /// Waits until what was carried before is in force, and what was posted before has been taken.
  ///
  /// On a host it has been taken when each process on the bus that is not stopped has it. Without a
  /// connection this waits for one.
  ///
  /// - Throws: `CancellationError` if the task is canceled; a ``RelayError`` if the relay has ended.
  public func flush() async throws { try await core.flush() }

  // MARK: Ending

  /// Sends what was posted, posts what has come, and ends.
  ///
  /// Nothing that is posted from the call on is carried. If the task is canceled, or if there is no
  /// connection, it ends at once.
  public func drain() async {
    core.carried.endOutward()
    if core.state.value == .connected { try? await core.flush() }
    await core.finishDeliveries()
    cancel()
  }

  /// Ends at once: what has not been sent is forgotten.
  ///
  /// When it returns, nothing more is posted by the relay; a call of an observer may still be
  /// running. A second call does nothing.
  public func cancel() { core.cancel() }
}

extension Relay {
  /// What connects relays with each other.
  public struct Transport: Sendable {
    let makeLink: @Sendable (_ name: String, _ buffering: RelayBuffering) -> any RelayLink

    package init(
      _ makeLink: @escaping @Sendable (_ name: String, RelayBuffering) -> any RelayLink
    ) {
      self.makeLink = makeLink
    }
  }

  /// In which directions messages of a type are carried.
  public enum Direction: Sendable, Hashable {
    /// What is posted in one center is posted in the others, both ways.
    case bothWays
    /// What others post is posted here.
    case inward
    /// What is posted here is posted by others.
    case outward
  }
}

/// How much is kept for a process that does not take what is sent, and what is dropped beyond.
public struct RelayBuffering: Sendable, Hashable {
  enum Policy: Sendable, Hashable {
    case newest
    case oldest
  }

  let policy: Policy
  package let byteCount: Int
  package var keepsNewest: Bool { policy == .newest }

  /// Keeps the newest messages, as many as have this many bytes; 8 MB unless said.
  public static func newest(bytes: Int = 8 << 20) -> Self { Self(.newest, bytes) }

  /// Keeps the oldest messages, as many as have this many bytes; 8 MB unless said.
  public static func oldest(bytes: Int = 8 << 20) -> Self { Self(.oldest, bytes) }

  private init(_ policy: Policy, _ byteCount: Int) {
    precondition(
      byteCount >= 65_536,
      "A relay's buffer was given \(byteCount) bytes; it takes 65,536 at the least")
    self.policy = policy
    self.byteCount = byteCount
  }
}
