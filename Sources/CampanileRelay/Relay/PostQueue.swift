import Campanile

/// The messages that a relay has to send, in order, until its link takes them.
///
/// A post costs a lock. Messages are encoded on the link's queue.
final class PostQueue: Sendable {
  enum Item: Sendable {
    case message(OutgoingMessage)
    // In boxes, so that an item is short.
    /// Bytes that are sent as they are.
    indirect case posts(RelayPosts)
    indirect case operation(RelayOperation)
  }

  fileprivate struct State {
    var items: [Item?] = []
    /// The memory of items that have been taken, which later posts reuse.
    var spare: [Item?] = []
    /// Posts of raw bytes after the items.
    ///
    /// The bytes are copied: one thread would allocate an array and another would free it.
    var tail = RelayPosts()
    /// The approximate memory of the messages.
    var size = 0
    /// Where to look for the oldest message.
    var first = 0
    /// How many items before `first` are `nil`.
    var gaps = 0
    /// How many messages of each pattern there was no room for.
    var lost: [String: Int] = [:]
    var isScheduled = false
    var isClosed = false
  }

  private let state = Locked(State())
  private let buffering: RelayBuffering
  /// Up to so many bytes are copied, and a longer array is shared.
  private static var longest: Int { 4_096 }

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
      state.endTail()
      state.items.append(.message(make()))
      if state.size > limit { dropped = state.dropOldest(downTo: limit) }
      isFirst = state.schedule()
    }
    if let dropped, count(dropped) { return true }
    return isFirst
  }

  /// Queues bytes that are sent as they are, as ``append(size:_:)`` queues a message.
  ///
  /// - Precondition: The subject is the name of a message.
  /// - Parameter whenQueued: Called with the lock held, so that code that is called because of it
  ///   posts later. It must not run foreign code.
  /// - Returns: Whether it is the first item, so that the caller must schedule the sending.
  func append(
    raw bytes: [UInt8], to subject: String, version: UInt32, whenQueued: () -> Void = {}
  ) -> Bool {
    var isFirst = false
    var dropped: [OutgoingMessage]?
    let (size, limit) = (Self.size(ofRaw: bytes.count), buffering.byteCount)
    state.withLock { state in
      whenQueued()
      if state.isClosed { return }
      if state.size + size > limit, buffering.policy == .oldest {
        state.lost[subject, default: 0] += 1
      } else {
        state.size += size
        if bytes.count <= Self.longest, subject.utf8.count <= Self.longest {
          if state.tail.isFull { state.endTail() }
          state.tail.append(raw: bytes, to: subject, version: version)
        } else {
          let heading = RelayPosts.Heading(raw: subject, version)
          state.endTail()
          state.items.append(.posts(RelayPosts(heading, sharing: bytes)))
        }
        if state.size > limit { dropped = state.dropOldest(downTo: limit) }
      }
      isFirst = state.schedule()
    }
    if let dropped, count(dropped) { return true }
    return isFirst
  }

  fileprivate static func size(ofRaw byteCount: Int) -> Int { byteCount + 128 }

  /// Counts messages that there was no room for, without the lock where their type is asked.
  ///
  /// - Returns: Whether the caller must schedule taking the counts.
  @inline(never)
  private func count(_ dropped: [OutgoingMessage]) -> Bool {
    let patterns = dropped.map(\.pattern)
    for message in dropped { message.hold?.end() }
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
      state.endTail()
      state.items.append(.operation(operation))
      return state.schedule()
    }
  }

  /// Takes nothing more, and forgets what there is.
  func close() {
    // The objects of the messages are released outside the lock.
    let items = state.withLock { state -> [Item?] in
      state.isClosed = true
      state.endTail()
      defer { state.items = [] }
      return state.items
    }
    withExtendedLifetime(items) {}
  }

  /// Returns the items to send, and the number of dropped messages of each pattern since the last
  /// call.
  ///
  /// The items are in order, with `nil` in place of some dropped messages.
  func takeAll() -> (items: [Item?], lost: [String: Int]) {
    state.withLock { state in
      state.endTail()
      var items: [Item?] = []
      swap(&items, &state.spare)
      swap(&items, &state.items)
      defer {
        (state.lost, state.size, state.first, state.gaps, state.isScheduled) = ([:], 0, 0, 0, false)
      }
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
  /// - Returns: Whether the caller must schedule the sending.
  @inline(__always)
  fileprivate mutating func schedule() -> Bool {
    defer { isScheduled = true }
    return !isScheduled
  }

  /// Makes an item of the posts of raw bytes.
  @inline(__always)
  fileprivate mutating func endTail() { if !tail.isEmpty { makeItemOfTail() } }

  @inline(never)
  private mutating func makeItemOfTail() {
    var next = RelayPosts()
    // As many are likely to follow.
    next.reserve(asIn: tail)
    swap(&next, &tail)
    items.append(.posts(next))
  }

  /// Takes out the oldest messages, until the others fit in, and counts those of raw bytes.
  ///
  /// - Returns: The other messages that were taken out.
  @inline(never)
  fileprivate mutating func dropOldest(downTo limit: Int) -> [OutgoingMessage]? {
    // At most as many as there are items: then moving these costs each post little.
    defer { if gaps > 1_024, gaps > items.count / 2 { closeGaps() } }
    var dropped: [OutgoingMessage]?
    while size > limit, first < items.count {
      switch items[first] {
      case .message(let message):
        // The newest stays, however large it is.
        if first == items.count - 1, tail.isEmpty { return dropped }
        size -= message.size
        items[first] = nil
        gaps += 1
        // In place: a copy for each of many messages would take long, under the lock.
        if dropped?.append(message) == nil { dropped = [message] }
      case .posts(var posts):
        items[first] = nil
        drop(&posts, isLast: first == items.count - 1 && tail.isEmpty, downTo: limit)
        if !posts.isEmpty {
          items[first] = .posts(posts)
          return dropped
        }
        gaps += 1
      case .operation, nil: break
      }
      first += 1
    }
    if size > limit {
      var rest = RelayPosts()
      swap(&rest, &tail)
      drop(&rest, isLast: true, downTo: limit)
      swap(&rest, &tail)
    }
    return dropped
  }

  @inline(never)
  private mutating func closeGaps() {
    items.removeAll { $0 == nil }
    first -= gaps
    gaps = 0
  }

  private mutating func drop(_ posts: inout RelayPosts, isLast: Bool, downTo limit: Int) {
    while size > limit, !(isLast && posts.count == 1), let post = posts.popFirst() {
      size -= PostQueue.size(ofRaw: post.payload.count)
      lost[posts.headings[post.heading].subject, default: 0] += 1
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
