import Campanile

/// The messages that a relay has to send, in order, until its link takes them.
///
/// A post costs a lock. Messages are encoded on the link's queue.
final class PostQueue: Sendable {
  enum Item: Sendable {
    case message(OutgoingMessage)
    /// Bytes that are sent as they are; the array is shared with the poster.
    case bytes([UInt8], RelayPosts.Heading)
    // In a box, so that an item is short.
    indirect case operation(RelayOperation)
  }

  /// Items to send: first the operations that were queued behind messages that have been dropped.
  struct Batch: Sendable {
    fileprivate var front = Queue<Item>()
    fileprivate var rest = Queue<Item>()

    var isEmpty: Bool { front.isEmpty && rest.isEmpty }
    mutating func popFirst() -> Item? { front.popFirst() ?? rest.popFirst() }
  }

  fileprivate struct State {
    var batch = Batch()
    /// The approximate memory of the messages.
    var size = 0
    /// How many messages of each pattern there was no room for.
    var lost: [String: Int] = [:]
    var isScheduled = false
    var isClosed = false
  }

  private let state = Locked(State())
  private let buffering: RelayBuffering

  init(_ buffering: RelayBuffering) { self.buffering = buffering }

  /// Queues a message, which may drop the oldest ones, or counts the message as lost if the queue
  /// is full.
  ///
  /// - Parameters:
  ///   - whenQueued: Called in any case, with the lock held, so that code that is called because of it
  ///     posts later. It must not run foreign code.
  ///   - make: Makes the message in its final place, since moving it would copy it.
  /// - Returns: Whether it is the first item, so that the caller must schedule the sending.
  @inline(__always)
  func append(size: Int, whenQueued: () -> Void = {}, _ make: () -> Item) -> Bool {
    var isFirst = false
    // An array would be retained and released.
    var dropped: [Item]?
    let limit = buffering.byteCount
    state.withLock { state in
      whenQueued()
      if state.isClosed { return }
      if state.size + size > limit, buffering.policy == .oldest {
        dropped = [make()]
        return
      }
      state.size += size
      state.batch.rest.append(make())
      if state.size > limit { dropped = state.dropOldest(downTo: limit) }
      isFirst = state.schedule()
    }
    if let dropped, count(dropped) { return true }
    return isFirst
  }

  /// Counts messages that there was no room for, without the lock where their type is asked.
  ///
  /// - Returns: Whether the caller must schedule taking the counts.
  @inline(never)
  private func count(_ dropped: [Item]) -> Bool {
    let patterns = dropped.map(\.pattern)
    for case .message(let message) in dropped { message.hold?.end() }
    return state.withLock { state in
      if state.isClosed { return false }
      for pattern in patterns { state.lost[pattern, default: 0] += 1 }
      return state.schedule()
    }
  }

  /// - Returns: Whether it is the first item, so that the caller must schedule the sending.
  func append(_ operation: RelayOperation) -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      state.batch.rest.append(.operation(operation))
      return state.schedule()
    }
  }

  /// Takes nothing more, and forgets what there is.
  func close() {
    // The objects of the messages are released outside the lock.
    let batch = state.withLock { state in
      state.isClosed = true
      defer { state.batch = Batch() }
      return state.batch
    }
    withExtendedLifetime(batch) {}
  }

  /// Exchanges an empty batch, whose memory later posts reuse, for all items.
  ///
  /// - Returns: The number of dropped messages of each pattern since the last call.
  func takeAll(in batch: inout Batch) -> [String: Int] {
    state.withLock { state in
      if !state.isClosed { swap(&batch, &state.batch) }
      defer { (state.lost, state.size, state.isScheduled) = ([:], 0, false) }
      return state.lost
    }
  }
}

extension PostQueue.State {
  /// - Returns: Whether the caller must schedule the sending.
  @inline(__always)
  fileprivate mutating func schedule() -> Bool {
    defer { isScheduled = true }
    return !isScheduled
  }

  /// Takes out the oldest messages, until the others fit in; the newest stays, however large it is.
  ///
  /// - Returns: The messages that were taken out.
  @inline(never)
  fileprivate mutating func dropOldest(downTo limit: Int) -> [PostQueue.Item]? {
    var dropped: [PostQueue.Item]?
    while size > limit, batch.rest.count > 1, let item = batch.rest.popFirst() {
      if case .operation = item {
        batch.front.append(item)
        continue
      }
      size -= item.size
      // In place: a copy for each of many messages would take long, under the lock.
      if dropped?.append(item) == nil { dropped = [item] }
    }
    return dropped
  }
}

extension PostQueue.Item {
  /// The approximate number of bytes in memory; what the strings and arrays of a typed message hold is
  /// not counted.
  fileprivate var size: Int {
    switch self {
    case .message(let message): message.size
    case .bytes(let bytes, let heading): Self.size(of: bytes, to: heading.subject)
    case .operation: 0
    }
  }

  static func size(of bytes: [UInt8], to subject: String) -> Int {
    bytes.count + subject.utf8.count + 128
  }

  /// Bytes in an array that has not much more memory than is counted for them.
  static func fitted(_ bytes: [UInt8]) -> [UInt8] {
    bytes.capacity <= 2 * bytes.count + 64 ? bytes : bytes.map { $0 }
  }

  /// The names under which such messages travel.
  fileprivate var pattern: String {
    switch self {
    case .message(let message): message.pattern
    case .bytes(_, let heading): heading.subject
    case .operation: ""
    }
  }
}

/// A message that is to be sent.
///
/// It is not generic, so that generic code need not look up its type at each post. It is not an
/// object, which one thread would allocate and another would free.
struct OutgoingMessage: Sendable {
  /// The fields that only few messages have; in an object, so that other messages need no reference
  /// counting for them.
  final class Details: Sendable {
    /// The name of the subject.
    fileprivate let about: String?
    /// The centers that the message had passed through before it was posted here.
    fileprivate let earlierPath: [PathStep]
    /// The delivery that ends when the message has been taken.
    fileprivate let hold: HeldDelivery?

    init(_ about: String?, _ earlierPath: [PathStep], _ hold: HeldDelivery?) {
      self.about = about
      self.earlierPath = earlierPath
      self.hold = hold
    }
  }

  private let message: any RelayedMessage
  private let details: Details?
  /// The center that it was posted in.
  private let center: PathStep

  /// A message that was posted in a center.
  @inline(__always)
  init<M: RelayedMessage>(_ message: M, through center: PathStep, _ details: Details?) {
    self.message = message
    self.center = center
    self.details = details
  }

  /// The approximate number of bytes in memory, without what its strings and arrays hold.
  var size: Int { Self.size(of: message) }

  @inline(__always)
  static func size<M: RelayedMessage>(of message: M) -> Int { MemoryLayout<M>.size + 128 }

  /// The delivery that ends when the message has been taken.
  var hold: HeldDelivery? { details?.hold }

  /// The names under which messages of its type travel.
  var pattern: String { type(of: message).pattern }

  /// The heading that it shares with others.
  var heading: RelayPosts.Heading {
    let name =
      details?.about.map { message.name + "." + SubjectName.escaped($0) } ?? message.name
    return RelayPosts.Heading(
      subject: name, version: UInt32(clamping: type(of: message).relayVersion),
      path: (details?.earlierPath.map(\.number) ?? []) + [center.number])
  }

  func payload() throws -> [UInt8] { try message.relayPayload() }
}

extension RelayedMessage {
  fileprivate static var pattern: String { relaySubject.pattern }
  fileprivate var name: String { Self.relaySubject.name(of: self) }
}
