import Campanile

/// The messages that a relay has to send, in order, until its link takes them.
///
/// A post costs a lock. Messages are encoded on the link's queue.
final class PostQueue: Sendable {
  enum Item: Sendable {
    case message(OutgoingMessage)
    // In a box, so that an item is short.
    indirect case operation(RelayOperation)
  }

  fileprivate struct State {
    var items: [Item?] = []
    /// The memory of items that have been taken, which later posts reuse.
    var spare: [Item?] = []
    /// The approximate memory of the messages.
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

  /// Queues a message, which may drop the oldest ones, or counts the message as lost if the queue
  /// is full.
  ///
  /// - Parameter make: Makes the message in its final place, since moving it would copy it.
  /// - Returns: Whether it is the first item, so that the caller must schedule the sending.
  @inline(__always)
  func append(size: Int, _ make: () -> OutgoingMessage) -> Bool {
    var isFirst = false
    // An array would be retained and released.
    var dropped: [OutgoingMessage]?
    let limit = buffering.byteCount
    state.withLock { state in
      if state.isClosed { return }
      if state.size + size > limit, buffering.policy == .oldest {
        dropped = [make()]
        return
      }
      state.size += size
      state.items.append(.message(make()))
      if state.size > limit { dropped = state.dropOldest(downTo: limit) }
      isFirst = !state.isScheduled
      state.isScheduled = true
    }
    if let dropped, count(dropped) { return true }
    return isFirst
  }

  /// Counts messages that there was no room for, without the lock where their type is asked.
  ///
  /// - Returns: Whether somebody is to take the counts.
  @inline(never)
  private func count(_ dropped: [OutgoingMessage]) -> Bool {
    let patterns = dropped.map(\.pattern)
    for message in dropped { message.hold?.end() }
    return state.withLock { state in
      if state.isClosed { return false }
      for pattern in patterns { state.lost[pattern, default: 0] += 1 }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  /// - Returns: Whether it is the first item, so that the caller must schedule the sending.
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

  /// Returns the items to send, and the number of dropped messages of each pattern since the last
  /// call.
  ///
  /// The items are in order, with `nil` in place of a dropped message.
  func takeAll() -> (items: [Item?], lost: [String: Int]) {
    state.withLock { state in
      var items: [Item?] = []
      swap(&items, &state.spare)
      swap(&items, &state.items)
      defer { (state.lost, state.size, state.first, state.isScheduled) = ([:], 0, 0, false) }
      return (items, state.lost)
    }
  }

  /// Keeps the memory of items that have been sent, unless there are far fewer items now.
  func recycle(_ items: consuming [Item?]) {
    let count = items.count
    items.removeAll(keepingCapacity: items.capacity <= 4 * count)
    state.withLock { [items] state in if !state.isClosed { state.spare = items } }
  }
}

extension PostQueue.State {
  /// Takes out the oldest messages, until the others fit in.
  @inline(never)
  fileprivate mutating func dropOldest(downTo limit: Int) -> [OutgoingMessage] {
    var dropped: [OutgoingMessage] = []
    while size > limit, first < items.count - 1 {
      if case .message(let message) = items[first] {
        items[first] = nil
        size -= message.size
        dropped.append(message)
      }
      first += 1
    }
    return dropped
  }
}

/// A message that is to be sent.
///
/// It is not generic, so that generic code need not look up its type at each post. It is not an
/// object, which one thread would allocate and another would free.
struct OutgoingMessage: Sendable {
  enum Content: Sendable {
    case typed(any RelayedMessage)
    /// Bytes that are sent as they are; in a box, so that others are short.
    indirect case raw([UInt8], subject: String, version: Int)
  }

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

  let content: Content
  private let details: Details?
  /// The center that it was posted in; of raw bytes, what no center has.
  private let center: PathStep

  /// A message that was posted in a center.
  @inline(__always)
  init<M: RelayedMessage>(_ message: M, through center: PathStep, _ details: Details?) {
    content = .typed(message)
    self.center = center
    self.details = details
  }

  init(raw bytes: [UInt8], subject: String, version: Int) {
    content = .raw(bytes, subject: subject, version: version)
    (center, details) = (Self.nowhere, nil)
  }

  /// The approximate number of bytes in memory.
  var size: Int {
    switch content {
    case .typed(let message): Self.size(of: message)
    case .raw(let bytes, _, _): Self.size(ofRaw: bytes)
    }
  }

  private static let nowhere = PathStep(number: 0)

  @inline(__always)
  static func size<M: RelayedMessage>(of message: M) -> Int { MemoryLayout<M>.size + 128 }
  static func size(ofRaw bytes: [UInt8]) -> Int { bytes.count + 128 }

  /// The delivery that ends when the message has been taken.
  var hold: HeldDelivery? { details?.hold }

  /// Where it has been.
  var path: [UInt64] {
    if center == Self.nowhere { return [] }
    return (details?.earlierPath.map(\.number) ?? []) + [center.number]
  }

  /// The names under which messages of its type travel.
  var pattern: String {
    switch content {
    case .typed(let message): type(of: message).pattern
    case .raw(_, let subject, _): subject
    }
  }

  /// The name under which it travels.
  var subject: String {
    switch content {
    case .typed(let message):
      details?.about.map { message.name + "." + SubjectName.escaped($0) } ?? message.name
    case .raw(_, let subject, _): subject
    }
  }

  var version: UInt32 {
    switch content {
    case .typed(let message): UInt32(clamping: type(of: message).relayVersion)
    case .raw(_, _, let version): UInt32(clamping: version)
    }
  }

  func payload() throws -> [UInt8] {
    switch content {
    case .typed(let message): try message.relayPayload()
    case .raw(let bytes, _, _): bytes
    }
  }
}

extension RelayedMessage {
  fileprivate static var pattern: String { relaySubject.pattern }
  fileprivate var name: String { Self.relaySubject.name(of: self) }
}
