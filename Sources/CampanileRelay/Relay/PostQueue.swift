import Campanile

/// What a relay has to send, in order, until its link takes it.
///
/// To post costs a lock and one object. What is posted is encoded on the link's queue.
final class PostQueue: Sendable {
  enum Item: Sendable {
    case message(any OutgoingMessage)
    // In a box, so that an item is short.
    indirect case operation(RelayOperation)
  }

  fileprivate struct State {
    var items: [Item?] = []
    /// How much the messages may take in memory.
    var size = 0
    /// Where to look for the oldest message.
    var first = 0
    /// How many messages of each pattern there was no room for.
    var lost: [String: Int] = [:]
    var isScheduled = false
    var isClosed = false
  }

  private let state = Locked(State())
  private let buffering: RelayBuffering

  init(_ buffering: RelayBuffering) { self.buffering = buffering }

  /// - Returns: Whether it is the first item, which somebody is to take, and the messages for which
  ///   there is no room, which have been counted.
  func append(_ message: some OutgoingMessage) -> (isFirst: Bool, dropped: [any OutgoingMessage]) {
    var isFirst = false
    var dropped: [any OutgoingMessage] = []
    let (limit, size) = (buffering.byteCount, message.size)
    // Without a result, whose type would have to be looked up.
    state.withLock { state in
      if state.isClosed { return }
      if buffering.policy == .oldest && state.size + size > limit {
        state.lost[message.pattern, default: 0] += 1
        dropped = [message]
        return
      }
      state.items.append(.message(message))
      state.size += size
      if state.size > limit { dropped = state.dropOldest(downTo: limit) }
      isFirst = !state.isScheduled
      state.isScheduled = true
    }
    return (isFirst, dropped)
  }

  /// - Returns: Whether it is the first item, which somebody is to take.
  func append(_ operation: RelayOperation) -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      state.items.append(.operation(operation))
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  /// Takes nothing more, and forgets what there is.
  func close() {
    // What the messages hold goes outside the lock.
    let items = state.withLock { state -> [Item?] in
      state.isClosed = true
      defer { state.items = [] }
      return state.items
    }
    withExtendedLifetime(items) {}
  }

  /// What is to be sent, in order, with `nil` in place of a message that was dropped; and how many of
  /// each pattern were dropped since the last time.
  func takeAll() -> (items: [Item?], lost: [String: Int]) {
    state.withLock { state in
      defer {
        state.lost = [:]
        let count = state.items.count
        state.items = []
        // For as many again, so that posts need not make room one by one.
        state.items.reserveCapacity(min(count, 1_024))
        (state.size, state.first, state.isScheduled) = (0, 0, false)
      }
      return (state.items, state.lost)
    }
  }
}

extension PostQueue.State {
  /// Takes out the oldest messages, until the others fit in.
  fileprivate mutating func dropOldest(downTo limit: Int) -> [any OutgoingMessage] {
    var dropped: [any OutgoingMessage] = []
    while size > limit, first < items.count - 1 {
      if case .message(let message) = items[first] {
        items[first] = nil
        size -= message.size
        lost[message.pattern, default: 0] += 1
        dropped.append(message)
      }
      first += 1
    }
    return dropped
  }
}

/// A message that is to be sent.
protocol OutgoingMessage: AnyObject, Sendable {
  /// How many bytes it takes in memory, about.
  var size: Int { get }
  /// Where it has been.
  var path: [PathStep] { get }
  /// The delivery that ends when the message has been taken.
  var hold: HeldDelivery? { get }
  /// The names under which messages of its type travel.
  var pattern: String { get }
  /// The name under which it travels.
  func subject() -> String
  var version: UInt32 { get }
  func payload() throws -> [UInt8]
}

final class TypedMessage<M: RelayedMessage>: OutgoingMessage {
  private let message: M
  /// What the message is about, as a name.
  private let about: String?
  private let earlierPath: [PathStep]
  private let step: PathStep
  let hold: HeldDelivery?

  /// - Parameters:
  ///   - about: The name of what it is about, if it is about anything.
  ///   - earlierPath: Where it had been before it came to the center.
  ///   - step: The center.
  init(
    _ message: M, about: String?, came earlierPath: [PathStep], through step: PathStep,
    hold: HeldDelivery?
  ) {
    self.message = message
    self.about = about
    self.earlierPath = earlierPath
    self.step = step
    self.hold = hold
  }

  var path: [PathStep] { earlierPath + [step] }

  var size: Int { MemoryLayout<M>.size + 128 }
  var version: UInt32 { UInt32(clamping: M.relayVersion) }
  var pattern: String { M.relaySubject.pattern }

  func subject() -> String {
    let name = M.relaySubject.name(of: message)
    return about.map { name + "." + SubjectName.escaped($0) } ?? name
  }

  func payload() throws -> [UInt8] { try message.relayPayload() }
}
