#if NATS
  import NIOCore

  /// The items that a relay has to send: items that wait, and sent items that are not confirmed.
  ///
  /// Unconfirmed items are sent again on the next connection; receivers recognize duplicates by
  /// their numbers. Each item has a mark, which is higher than all earlier ones.
  struct Outbox {
    enum Item: Equatable, Sendable {
      case post(Post)
      case request(correlation: UInt64, subject: String, version: UInt32, payload: [UInt8])
      case reply(to: String, hasFailed: Bool, payload: [UInt8])
      case flush(UInt64)
    }

    struct Post: Equatable, Sendable {
      var subject: String
      var number: UInt64
      var since: UInt64
      var version: UInt32
      var path: [UInt64]
      var payload: [UInt8]

      var cost: Int { payload.count + 128 }
    }

    /// What is asked about an item most often, apart from the item: reading an item copies it.
    private struct State {
      /// The cost of a post; 0 of anything else.
      var cost = 0
      var isConfirmed = false
      /// Whether it was dropped or is of no use any more.
      var isGone = false

      var isPost: Bool { cost > 0 }
    }

    private var items = CircularBuffer<Item?>()
    private var states = CircularBuffer<State>()
    /// The mark of the first item.
    private(set) var firstMark: UInt64 = 1
    /// So many items were sent on the present connection.
    private var sentCount = 0
    /// Where to look for the oldest post that waits.
    private var oldest = 0
    /// The bytes of posts that wait.
    private var waitingBytes = 0
    /// The bytes of posts that were sent and not confirmed.
    private var sentBytes = 0
    private let keepsNewest: Bool
    private let limit: Int
    /// Whether posts are stored, each of which is confirmed by itself.
    let isStored: Bool
    /// The bytes that are sent without being confirmed, at the most.
    static let window = 4 << 20

    init(keepsNewest: Bool, limit: Int, isStored: Bool = false) {
      self.isStored = isStored
      self.keepsNewest = keepsNewest
      self.limit = limit
    }

    var isEmpty: Bool { items.isEmpty }
    /// The mark of the item that was sent last.
    var sentMark: UInt64 { firstMark + UInt64(sentCount) - 1 }
    /// Whether anything that was sent is not confirmed.
    var isAwaiting: Bool { sentCount > 0 }

    // MARK: Keeping

    mutating func append(_ item: Item) { append(item, cost: 0) }

    private mutating func append(_ item: Item, cost: Int) {
      items.append(item)
      states.append(State(cost: cost))
    }

    /// Forgets an item, which keeps its place.
    private mutating func forget(_ index: Int) {
      items[offset: index] = nil
      states[offset: index].isGone = true
    }

    /// Keeps a post.
    ///
    /// - Parameter dropped: Called with the subject of each post that does not fit.
    mutating func append(_ post: Post, dropped: (String) -> Void) {
      let cost = post.cost
      if !keepsNewest, waitingBytes + cost > limit { return dropped(post.subject) }
      append(.post(post), cost: cost)
      waitingBytes += cost
      oldest = max(oldest, sentCount)
      while waitingBytes > limit, oldest < items.count - 1 {
        if case .post(let old) = items[offset: oldest] {
          forget(oldest)
          waitingBytes -= old.cost
          dropped(old.subject)
        }
        oldest += 1
      }
    }

    // MARK: Sending

    /// The next item, with its mark, as far as the window allows; then it counts as sent.
    mutating func next() -> (item: Item, mark: UInt64)? {
      while sentCount < items.count, sentBytes < Self.window {
        let (index, state) = (sentCount, states[offset: sentCount])
        sentCount += 1
        guard !state.isConfirmed, let item = items[offset: index] else { continue }
        if state.isPost {
          waitingBytes -= state.cost
          sentBytes += state.cost
        }
        return (item, sentMark)
      }
      return nil
    }

    /// The item cannot be sent at all.
    mutating func drop(_ mark: UInt64) {
      sentBytes -= states[offset: offset(mark)].cost
      forget(offset(mark))
    }

    private func offset(_ mark: UInt64) -> Int { Int(mark) - Int(firstMark) }

    // MARK: Confirming

    /// A server has taken all up to a mark.
    ///
    /// - Returns: The flushes that have ended.
    mutating func confirm(through mark: UInt64) -> [UInt64] {
      let count = min(sentCount, max(0, offset(mark) + 1))
      for index in 0..<count where !isStored || !states[offset: index].isPost {
        confirm(at: index)
      }
      return popConfirmed()
    }

    /// A stream has stored the post with a mark, or never will.
    ///
    /// - Returns: The flushes that have ended.
    mutating func stored(_ mark: UInt64) -> [UInt64] {
      guard mark >= firstMark, offset(mark) < sentCount else { return [] }
      confirm(at: offset(mark))
      return popConfirmed()
    }

    /// A stream never stores posts of this name.
    ///
    /// - Returns: How many of those that were sent are dropped, and the flushes that have ended.
    mutating func refuse(_ subject: String) -> (count: Int, flushed: [UInt64]) {
      var count = 0
      for index in 0..<sentCount {
        guard case .post(let post) = items[offset: index], post.subject == subject else {
          continue
        }
        confirm(at: index)
        count += 1
      }
      return (count, popConfirmed())
    }

    private mutating func confirm(at index: Int) {
      let state = states[offset: index]
      if state.isConfirmed { return }
      states[offset: index].isConfirmed = true
      guard state.isPost, !state.isGone else { return }
      sentBytes -= state.cost
      // It is not kept while an earlier one waits to be confirmed.
      forget(index)
    }

    private mutating func popConfirmed() -> [UInt64] {
      var flushed: [UInt64] = []
      while sentCount > 0, let first = states.first, first.isConfirmed || first.isGone {
        states.removeFirst()
        firstMark += 1
        sentCount -= 1
        oldest = max(0, oldest - 1)
        if case .flush(let token) = items.removeFirst() { flushed.append(token) }
      }
      return flushed
    }

    /// The post with a mark, while it is not confirmed.
    func post(_ mark: UInt64) -> Post? {
      guard mark >= firstMark, offset(mark) < sentCount,
        case .post(let post) = items[offset: offset(mark)]
      else { return nil }
      return post
    }

    /// Posts that were sent and not confirmed are to be sent again; requests and replies are not.
    mutating func rewind() {
      for index in 0..<sentCount {
        switch items[offset: index] {
        case .post(let post): waitingBytes += post.cost
        case .request, .reply: states[offset: index].isConfirmed = true
        case .flush, nil: break
        }
      }
      (sentCount, sentBytes, oldest) = (0, 0, 0)
    }

    /// The connection has ended: posts and flushes are to be sent again.
    ///
    /// - Returns: The correlations of the requests that were sent.
    mutating func disconnect() -> [UInt64] {
      var requests: [UInt64] = []
      for index in 0..<sentCount {
        switch items[offset: index] {
        case .request(let correlation, _, _, _):
          requests.append(correlation)
          forget(index)
        case .reply: forget(index)
        // A flush tells of the next connection too.
        case .flush: states[offset: index].isConfirmed = false
        case .post, nil: break
        }
      }
      rewind()
      return requests
    }
  }
#endif
