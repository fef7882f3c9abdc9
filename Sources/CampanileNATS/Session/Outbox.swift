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

    private struct Entry {
      // Nothing, once it was dropped or is of no use any more.
      var item: Item?
      /// That of a post.
      let cost: Int?
      var isConfirmed = false
    }

    private var entries = CircularBuffer<Entry>()
    /// The mark of the first entry.
    private(set) var firstMark: UInt64 = 1
    /// So many entries were sent on the present connection.
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

    var isEmpty: Bool { entries.isEmpty }
    /// The mark of the item that was sent last.
    var sentMark: UInt64 { firstMark + UInt64(sentCount) - 1 }
    /// Whether anything that was sent is not confirmed.
    var isAwaiting: Bool { sentCount > 0 }

    // MARK: Keeping

    mutating func append(_ item: Item) { entries.append(Entry(item: item, cost: nil)) }

    /// Keeps a post.
    ///
    /// - Parameter dropped: Called with the subject of each post that does not fit.
    mutating func append(_ post: Post, dropped: (String) -> Void) {
      if !keepsNewest, waitingBytes + post.cost > limit { return dropped(post.subject) }
      entries.append(Entry(item: .post(post), cost: post.cost))
      waitingBytes += post.cost
      oldest = max(oldest, sentCount)
      while waitingBytes > limit, oldest < entries.count - 1 {
        if case .post(let old) = entries[offset: oldest].item,
          !entries[offset: oldest].isConfirmed
        {
          entries[offset: oldest].item = nil
          waitingBytes -= old.cost
          dropped(old.subject)
        }
        oldest += 1
      }
    }

    // MARK: Sending

    /// The next item, with its mark, as far as the window allows; then it counts as sent.
    mutating func next() -> (item: Item, mark: UInt64)? {
      while sentCount < entries.count, sentBytes < Self.window {
        let entry = entries[offset: sentCount]
        sentCount += 1
        guard let item = entry.item, !entry.isConfirmed else { continue }
        if let cost = entry.cost {
          waitingBytes -= cost
          sentBytes += cost
        }
        return (item, sentMark)
      }
      return nil
    }

    /// The item cannot be sent at all.
    mutating func drop(_ mark: UInt64) {
      if case .post(let post) = entries[offset: offset(mark)].item { sentBytes -= post.cost }
      entries[offset: offset(mark)].item = nil
    }

    private func offset(_ mark: UInt64) -> Int { Int(mark) - Int(firstMark) }

    // MARK: Confirming

    /// A server has taken all up to a mark.
    ///
    /// - Returns: The flushes that have ended.
    mutating func confirm(through mark: UInt64) -> [UInt64] {
      let count = min(sentCount, max(0, offset(mark) + 1))
      for index in 0..<count where !isStored || entries[offset: index].cost == nil {
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
        guard case .post(let post) = entries[offset: index].item, post.subject == subject else {
          continue
        }
        confirm(at: index)
        count += 1
      }
      return (count, popConfirmed())
    }

    private mutating func confirm(at index: Int) {
      if entries[offset: index].isConfirmed { return }
      entries[offset: index].isConfirmed = true
      if entries[offset: index].item != nil { sentBytes -= entries[offset: index].cost ?? 0 }
      // It is not kept while an earlier one waits to be confirmed.
      if case .post = entries[offset: index].item { entries[offset: index].item = nil }
    }

    private mutating func popConfirmed() -> [UInt64] {
      var flushed: [UInt64] = []
      while sentCount > 0, let first = entries.first, first.isConfirmed || first.item == nil {
        entries.removeFirst()
        firstMark += 1
        sentCount -= 1
        oldest = max(0, oldest - 1)
        if case .flush(let token) = first.item { flushed.append(token) }
      }
      return flushed
    }

    /// The post with a mark, while it is not confirmed.
    func post(_ mark: UInt64) -> Post? {
      guard mark >= firstMark, offset(mark) < sentCount,
        case .post(let post) = entries[offset: offset(mark)].item
      else { return nil }
      return post
    }

    /// Posts that were sent and not confirmed are to be sent again; requests and replies are not.
    mutating func rewind() {
      for index in 0..<sentCount {
        switch entries[offset: index].item {
        case .post(let post):
          if !entries[offset: index].isConfirmed { waitingBytes += post.cost }
        case .request, .reply: entries[offset: index].isConfirmed = true
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
        switch entries[offset: index].item {
        case .request(let correlation, _, _, _):
          requests.append(correlation)
          entries[offset: index].item = nil
        case .reply: entries[offset: index].item = nil
        // A flush tells of the next connection too.
        case .flush: entries[offset: index].isConfirmed = false
        case .post, nil: break
        }
      }
      rewind()
      return requests
    }
  }
#endif
