#if NATS
  import CampanileRelay
  import NIOCore

  /// The items that a relay has to send: items that wait, and sent items that are not confirmed.
  ///
  /// Unconfirmed items are sent again on the next connection; receivers recognize duplicates by
  /// their numbers. Each item has a mark, which is higher than all earlier ones. An item is a few
  /// numbers, and the place of its frame. Posts wait as they were posted, and become items when
  /// they are sent for the first time.
  struct Outbox {
    enum Kind: UInt8, Sendable {
      case post, request, reply, flush
    }

    struct Item: Equatable {
      var mark: UInt64 = 0
      /// The correlation of a request; the token of a flush.
      let token: UInt64
      let place: FrameStore.Place
      /// The bytes of headers and payload.
      let size: UInt32
      /// The cost of a post.
      var cost: UInt32 = 0
      let kind: Kind
      var isConfirmed = false

      /// The bytes of the frame.
      var length: Int { Int(place.length) }
    }

    /// An item that waits to be sent for the first time.
    enum Waiting {
      case posts(RelayPosts)
      /// An item that is no post, and has no mark yet.
      case other(Item)
    }

    var frames = FrameStore()
    /// Items that were sent on the present connection.
    var sent = CircularBuffer<Item>()
    /// Waiting items, none of which may be dropped.
    var front = CircularBuffer<Item>()
    /// Items that are to be sent again, after these.
    var again = CircularBuffer<Item>()
    /// The posts that are sent first, after all items.
    var posts = RelayPosts()
    var rest = CircularBuffer<Waiting>()
    /// The frame of the last post, and the place of its heading.
    var head: PostHead
    var heading = -1
    var headingCost = 0
    var numbers = SentNumbers()
    /// Items whose frames are to be written next, and which follow each other.
    var run: FrameStore.Place?
    /// The mark of the next item.
    var nextMark: UInt64 = 1
    /// The bytes of posts that wait.
    var waitingBytes = 0
    /// The bytes of posts that were sent and not confirmed.
    var sentBytes = 0
    /// The number of those posts.
    var sentPosts = 0
    let limit: Int
    /// Whether posts are stored, each of which is confirmed by itself.
    let isStored: Bool
    /// The bytes that are sent without being confirmed, at the most.
    static let window = 4 << 20
    /// How many posts are sent to a stream without being confirmed, at the most.
    ///
    /// A server keeps ten thousand in the queue of a stream, or more.
    static let storedWindow = 4_096
    /// The cost of a post in addition to its payload, its name and its path.
    static let overhead = 128

    /// The cost of posts with a heading in addition to their payloads.
    private static func cost(_ heading: RelayPosts.Heading) -> Int {
      overhead + heading.subject.utf8.count + 8 * heading.path.count
    }

    private static func cost(_ posts: RelayPosts) -> Int {
      if posts.headings.count == 1 {
        return posts.byteCount + posts.count * cost(posts.headings[0])
      }
      let costs = posts.headings.map(cost)
      var (rest, sum) = (posts, posts.byteCount)
      while let post = rest.popFirst() { sum += costs[post.heading] }
      return sum
    }

    init(_ sender: PostHead.Sender, limit: Int) {
      (head, isStored, self.limit) = (PostHead(sender), sender.isStored, limit)
    }

    var isEmpty: Bool { itemCount == 0 && posts.isEmpty && rest.isEmpty }
    /// How many items there are, apart from what waits to be sent for the first time.
    var itemCount: Int { sent.count + front.count + again.count }
    /// The bytes of the frames that are kept.
    var frameMemory: Int { frames.byteCount }
    /// The mark of the oldest post that is not confirmed, if it has been sent once.
    var oldestPost: UInt64? {
      (sent.first { $0.kind == .post && !$0.isConfirmed } ?? again.first { $0.kind == .post })?.mark
    }
    /// The mark of the first item.
    var firstMark: UInt64 { (sent.first ?? front.first ?? again.first)?.mark ?? nextMark }
    /// The mark of the item that was sent last.
    var sentMark: UInt64 { sent.last?.mark ?? firstMark - 1 }
    /// Whether anything that was sent is not confirmed.
    var isAwaiting: Bool { !sent.isEmpty }

    // MARK: Keeping

    mutating func appendFlush(_ token: UInt64) {
      let nowhere = FrameStore.Place(piece: 0, start: 0, length: 0)
      rest.append(.other(Item(token: token, place: nowhere, size: 0, kind: .flush)))
    }

    /// Keeps a request or a reply.
    ///
    /// - Parameters:
    ///   - correlation: That of a request.
    ///   - head: Its frame before the payload.
    ///   - size: The bytes of headers and payload.
    mutating func append(
      _ kind: Kind, correlation: UInt64 = 0, head: [UInt8], payload: [UInt8], size: Int
    ) {
      let place = frames.append(head, payload[...])
      rest.append(
        .other(Item(token: correlation, place: place, size: UInt32(size), kind: kind)))
    }

    /// Forgets requests and flushes that no task waits for, if they have not been sent.
    mutating func forget(_ tokens: Set<UInt64>) {
      func isOver(_ item: Item) -> Bool { tokens.contains(item.token) }
      let waiting = rest.compactMap { if case .other(let item) = $0 { item } else { nil } }
      for items in [waiting, Array(front), Array(again)] {
        for item in items where isOver(item) && item.kind == .request && !item.isConfirmed {
          frames.forget(item.place)
        }
      }
      rest.removeAll { if case .other(let item) = $0 { isOver(item) } else { false } }
      front.removeAll(where: isOver)
      again.removeAll(where: isOver)
    }

    /// Keeps posts, and drops the oldest that wait if they are too many.
    ///
    /// A post that waits has no number, so that its poster alone reports its loss.
    ///
    /// - Parameter dropped: Called with the subject of each post that is dropped.
    mutating func append(_ new: RelayPosts, dropped: (String) -> Void) {
      rest.append(.posts(new))
      waitingBytes += Self.cost(new)
      while waitingBytes > limit {
        if let item = again.popFirst() {
          guard item.kind == .post else {
            front.append(item)
            continue
          }
          waitingBytes -= Int(item.cost)
          dropped(frames.subject(item.place))
          frames.forget(item.place)
          continue
        }
        // The newest stays, however large it is.
        if posts.count == 1, rest.isEmpty { return }
        if let post = posts.popFirst() {
          let heading = posts.headings[post.heading]
          waitingBytes -= post.payload.count + Self.cost(heading)
          dropped(heading.subject)
        } else if let item = nextOther() {
          front.append(item)
        } else if posts.isEmpty {
          return
        }
      }
    }

    // MARK: Sending

    /// The next item, as far as the window allows; then it counts as sent.
    mutating func next() -> Item? {
      while sentBytes < Self.window, !isStored || sentPosts < Self.storedWindow {
        if let item = front.popFirst() ?? again.popFirst() {
          sent.append(item)
          if item.isConfirmed { continue }
          waitingBytes -= Int(item.cost)
          sentBytes += Int(item.cost)
          if item.kind == .post { sentPosts += 1 }
          return item
        }
        if let item = nextPost() ?? nextOther() {
          sent.append(item)
          return item
        }
        if posts.isEmpty { return nil }
      }
      return nil
    }

    /// Makes an item of the next post.
    mutating func nextPost() -> Item? {
      guard let post = posts.popFirst() else { return nil }
      if post.heading != heading {
        heading = post.heading
        head.begin(posts.headings[heading])
        headingCost = Self.cost(posts.headings[heading])
      }
      let (number, since) = numbers.next(head.subject)
      let (mark, count) = (nextMark, post.payload.count)
      head.write(number: number, since: since, mark: mark, count: count)
      let place = frames.append(head.bytes, posts.bytes[post.payload])
      let cost = count + headingCost
      nextMark += 1
      waitingBytes -= cost
      sentBytes += cost
      sentPosts += 1
      return Item(
        mark: mark, token: 0, place: place, size: UInt32(head.headerCount + count),
        cost: UInt32(cost), kind: .post)
    }

    /// Makes an item of what is next after the posts, if it is something else, or begins more posts.
    mutating func nextOther() -> Item? {
      while let next = rest.popFirst() {
        switch next {
        case .posts(let next):
          (posts, heading) = (next, -1)
          return nil
        case .other(var item):
          item.mark = nextMark
          nextMark += 1
          return item
        }
      }
      return nil
    }

    /// Writes the frame of an item, at the latest when the run is ended.
    mutating func write(_ item: Item, to output: inout ByteBuffer) {
      let place = item.place
      if let run, run.piece == place.piece, run.start + run.length == place.start {
        self.run?.length += place.length
      } else {
        endRun(to: &output)
        run = place
      }
    }

    /// Writes what has not been written of the items that were to be written.
    mutating func endRun(to output: inout ByteBuffer) {
      if let run { frames.write(run, to: &output) }
      run = nil
    }

    /// The item that was sent last cannot be sent at all.
    ///
    /// - Returns: What it was to be published to.
    mutating func dropLast() -> String? {
      guard let item = sent.popLast() else { return nil }
      defer { frames.forget(item.place) }
      sentBytes -= Int(item.cost)
      if item.kind == .post { sentPosts -= 1 }
      return frames.subject(item.place)
    }
  }
#endif
