import Campanile

/// What a relay has to send, in order, until its link takes it.
///
/// To post costs a lock and one object. What is posted is encoded on the link's queue.
final class PostQueue: Sendable {
  enum Item: Sendable {
    case message(OutgoingMessage)
    // In a box, so that an item is short.
    indirect case operation(RelayOperation)
  }

  fileprivate struct State {
    var items: [Item?] = []
    /// What has been taken, without its items: posts need not make room one by one.
    var spare: [Item?] = []
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

  /// Takes a message, for which the oldest may have to go, or counts it if there is no room.
  ///
  /// - Returns: Whether it is the first item, which somebody is to take.
  func append(_ message: consuming OutgoingMessage) -> Bool {
    var isFirst = false
    let size = message.size
    // Moved into the queue: nobody else has it, and to keep it would be to count it up and down.
    var message: OutgoingMessage? = consume message
    // An array would be retained and released.
    var dropped: [OutgoingMessage]?
    let limit = buffering.byteCount
    state.withLock { state in
      if state.isClosed { return }
      if state.size + size > limit, buffering.policy == .oldest {
        dropped = [state.counted(message.take())]
        return
      }
      state.size += size
      state.items.append(message.take().map(Item.message))
      if state.size > limit { dropped = state.dropOldest(downTo: limit) }
      isFirst = !state.isScheduled
      state.isScheduled = true
    }
    if let dropped { for message in dropped { message.hold?.end() } }
    return isFirst
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
      var items: [Item?] = []
      swap(&items, &state.spare)
      swap(&items, &state.items)
      defer { (state.lost, state.size, state.first, state.isScheduled) = ([:], 0, 0, false) }
      return (items, state.lost)
    }
  }

  /// Keeps the room that items had which have been sent, unless far fewer come now.
  func recycle(_ items: consuming [Item?]) {
    let count = items.count
    items.removeAll(keepingCapacity: items.capacity <= 4 * count)
    state.withLock { [items] state in if !state.isClosed { state.spare = items } }
  }
}

extension PostQueue.State {
  @inline(never)
  fileprivate mutating func count(_ message: OutgoingMessage) {
    lost[message.pattern, default: 0] += 1
  }

  @inline(never)
  fileprivate mutating func counted(_ message: OutgoingMessage?) -> OutgoingMessage {
    count(message!)
    return message!
  }

  /// Takes out the oldest messages, until the others fit in.
  @inline(never)
  fileprivate mutating func dropOldest(downTo limit: Int) -> [OutgoingMessage] {
    var dropped: [OutgoingMessage] = []
    while size > limit, first < items.count - 1 {
      if case .message(let message) = items[first] {
        items[first] = nil
        size -= message.size
        count(message)
        dropped.append(message)
      }
      first += 1
    }
    return dropped
  }
}

/// A message that is to be sent.
///
/// Not generic: generic code would look its class up at each post.
final class OutgoingMessage: Sendable {
  enum Content: Sendable {
    /// A message, with the name of what it is about.
    case typed(any RelayedMessage, about: String?)
    /// Bytes that are sent as they are.
    case raw([UInt8], subject: String, version: Int)
  }

  let content: Content
  /// How many bytes it takes in memory, about.
  let size: Int
  private let earlierPath: [PathStep]
  private let center: PathStep?
  /// The delivery that ends when the message has been taken.
  let hold: HeldDelivery?

  /// A message of a center.
  ///
  /// - Parameters:
  ///   - about: The name of what it is about, if it is about anything.
  ///   - earlierPath: Where it had been before it came to the center.
  @inline(__always)
  init<M: RelayedMessage>(
    _ message: M, about: String?, came earlierPath: [PathStep], through center: PathStep,
    hold: HeldDelivery?
  ) {
    content = .typed(message, about: about)
    size = MemoryLayout<M>.size + 128
    self.earlierPath = earlierPath
    self.center = center
    self.hold = hold
  }

  init(raw bytes: [UInt8], subject: String, version: Int) {
    content = .raw(bytes, subject: subject, version: version)
    size = bytes.count + 128
    (earlierPath, center, hold) = ([], nil, nil)
  }

  /// Where it has been.
  var path: [UInt64] {
    guard let center else { return [] }
    return earlierPath.map(\.number) + [center.number]
  }

  /// The names under which messages of its type travel.
  var pattern: String {
    switch content {
    case .typed(let message, _): type(of: message).pattern
    case .raw(_, let subject, _): subject
    }
  }

  /// The name under which it travels.
  var subject: String {
    switch content {
    case .typed(let message, let about):
      about.map { message.name + "." + SubjectName.escaped($0) } ?? message.name
    case .raw(_, let subject, _): subject
    }
  }

  var version: UInt32 {
    switch content {
    case .typed(let message, _): UInt32(clamping: type(of: message).relayVersion)
    case .raw(_, _, let version): UInt32(clamping: version)
    }
  }

  func payload() throws -> [UInt8] {
    switch content {
    case .typed(let message, _): try message.relayPayload()
    case .raw(let bytes, _, _): bytes
    }
  }
}

extension RelayedMessage {
  fileprivate static var pattern: String { relaySubject.pattern }
  fileprivate var name: String { Self.relaySubject.name(of: self) }
}
