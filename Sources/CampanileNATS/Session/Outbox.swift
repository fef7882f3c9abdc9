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
      let mark: UInt64
      /// The correlation of a request; the token of a flush.
      let token: UInt64
      fileprivate let place: FrameStore.Place
      /// The bytes of headers and payload.
      let size: UInt32
      /// The cost of a post.
      fileprivate let cost: UInt32
      let kind: Kind
      fileprivate var isConfirmed = false

      /// The bytes of the frame.
      var length: Int { Int(place.length) }
    }

    /// An item that waits to be sent for the first time.
    private enum Waiting {
      case posts(RelayPosts)
      case other(Kind, token: UInt64, FrameStore.Place, size: Int)
    }

    private var frames = FrameStore()
    /// Items that were sent on the present connection.
    private var sent = CircularBuffer<Item>()
    /// Waiting items, none of which may be dropped.
    private var front = CircularBuffer<Item>()
    /// Items that are to be sent again, after these.
    private var again = CircularBuffer<Item>()
    /// The posts that are sent first, after all items.
    private var posts = RelayPosts()
    private var rest = CircularBuffer<Waiting>()
    /// The frame of the last post, and the place of its heading.
    private var head: PostHead
    private var heading = -1
    private var headingCost = 0
    private(set) var numbers = SentNumbers()
    /// Items whose frames are to be written next, and which follow each other.
    private var run: FrameStore.Place?
    /// The mark of the next item.
    private var nextMark: UInt64 = 1
    /// The bytes of posts that wait.
    private var waitingBytes = 0
    /// The bytes of posts that were sent and not confirmed.
    private var sentBytes = 0
    /// The number of those posts.
    private var sentPosts = 0
    private let keepsNewest: Bool
    private let limit: Int
    /// Whether posts are stored, each of which is confirmed by itself.
    private let isStored: Bool
    /// The bytes that are sent without being confirmed, at the most.
    static let window = 4 << 20
    /// How many posts are sent to a stream without being confirmed, at the most.
    ///
    /// A server keeps ten thousand in the queue of a stream, or more.
    private static let storedWindow = 4_096
    /// The cost of a post in addition to its payload, its name and its path.
    private static let overhead = 128

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

    init(_ sender: PostHead.Sender, keepsNewest: Bool, limit: Int) {
      head = PostHead(sender)
      isStored = sender.isStored
      self.keepsNewest = keepsNewest
      self.limit = limit
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
    private var firstMark: UInt64 { (sent.first ?? front.first ?? again.first)?.mark ?? nextMark }
    /// The mark of the item that was sent last.
    var sentMark: UInt64 { sent.last?.mark ?? firstMark - 1 }
    /// Whether anything that was sent is not confirmed.
    var isAwaiting: Bool { !sent.isEmpty }

    // MARK: Keeping

    mutating func appendFlush(_ token: UInt64) {
      let nowhere = FrameStore.Place(piece: 0, start: 0, length: 0)
      rest.append(.other(.flush, token: token, nowhere, size: 0))
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
      rest.append(
        .other(kind, token: correlation, frames.append(head, payload[...]), size: size))
    }

    /// The requests that have not been sent.
    var waitingRequests: Set<UInt64> {
      var waiting: Set<UInt64> = []
      for item in rest {
        if case .other(.request, let token, _, _) = item { waiting.insert(token) }
      }
      for item in front where item.kind == .request { waiting.insert(item.token) }
      for item in again where item.kind == .request { waiting.insert(item.token) }
      return waiting
    }

    /// Forgets requests whose time is over, if they have not been sent.
    mutating func forget(requests: Set<UInt64>) {
      for item in rest {
        guard case .other(.request, let token, let place, _) = item else { continue }
        if requests.contains(token) { frames.forget(place) }
      }
      rest.removeAll {
        if case .other(.request, let token, _, _) = $0 { requests.contains(token) } else { false }
      }
      func isOver(_ item: Item) -> Bool {
        item.kind == .request && !item.isConfirmed && requests.contains(item.token)
      }
      for item in front where isOver(item) { frames.forget(item.place) }
      for item in again where isOver(item) { frames.forget(item.place) }
      front.removeAll(where: isOver)
      again.removeAll(where: isOver)
    }

    /// Forgets flushes that no task waits for, if they have not been sent.
    mutating func forget(flushes: Set<UInt64>) {
      rest.removeAll {
        if case .other(.flush, let token, _, _) = $0 { flushes.contains(token) } else { false }
      }
      front.removeAll { $0.kind == .flush && flushes.contains($0.token) }
      again.removeAll { $0.kind == .flush && flushes.contains($0.token) }
    }

    /// Keeps posts.
    ///
    /// A post that has no room gets no number, so that its poster alone reports it.
    ///
    /// - Parameter dropped: Called with the subject of each post that does not fit.
    mutating func append(_ new: RelayPosts, dropped: (String) -> Void) {
      let cost = Self.cost(new)
      if !keepsNewest, waitingBytes + cost > limit { return appendFitting(new, dropped) }
      rest.append(.posts(new))
      waitingBytes += cost
      if waitingBytes > limit { dropOldest(dropped) }
    }

    /// Keeps the posts that fit.
    private mutating func appendFitting(_ new: RelayPosts, _ dropped: (String) -> Void) {
      var (new, fitting) = (new, RelayPosts())
      while let post = new.popFirst() {
        let heading = new.headings[post.heading]
        let cost = post.payload.count + Self.cost(heading)
        if waitingBytes + cost > limit {
          dropped(heading.subject)
        } else {
          fitting.append(heading, new.bytes[post.payload])
          waitingBytes += cost
        }
      }
      if !fitting.isEmpty { rest.append(.posts(fitting)) }
    }

    private mutating func dropOldest(_ dropped: (String) -> Void) {
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
    private mutating func nextPost() -> Item? {
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
    private mutating func nextOther() -> Item? {
      while let next = rest.popFirst() {
        switch next {
        case .posts(let next):
          (posts, heading) = (next, -1)
          return nil
        case .other(let kind, let token, let place, let size):
          nextMark += 1
          return Item(
            mark: nextMark - 1, token: token, place: place, size: UInt32(size), cost: 0, kind: kind)
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
      let subject = frames.subject(item.place)
      sentBytes -= Int(item.cost)
      if item.kind == .post { sentPosts -= 1 }
      frames.forget(item.place)
      return subject
    }

    // MARK: Confirming

    /// A server has taken all up to a mark.
    ///
    /// That confirms no posts to a stream.
    ///
    /// - Returns: The flushes that have ended.
    mutating func confirm(through mark: UInt64) -> [UInt64] {
      // By offsets: the indices of a buffer hold its memory, which would be copied.
      for offset in 0..<sent.count {
        let item = sent[offset: offset]
        if item.mark > mark { break }
        if !isStored || item.kind != .post { confirm(at: offset) }
      }
      return popConfirmed()
    }

    /// A stream has stored the post with a mark, or never will.
    ///
    /// - Returns: The flushes that have ended.
    mutating func stored(_ mark: UInt64) -> [UInt64] {
      guard let offset = offset(mark) else { return [] }
      confirm(at: offset)
      return popConfirmed()
    }

    /// A stream never stores posts of this name.
    ///
    /// - Returns: How many of those that were sent once are dropped, and the flushes that have ended.
    mutating func refuse(_ subject: String) -> (count: Int, flushed: [UInt64]) {
      var count = 0
      func isRefused(_ item: Item) -> Bool {
        item.kind == .post && frames.subject(item.place) == subject
      }
      for item in again where isRefused(item) {
        count += 1
        waitingBytes -= Int(item.cost)
      }
      let refused = again.filter(isRefused)
      if !refused.isEmpty { again.removeAll(where: isRefused) }
      for item in refused { frames.forget(item.place) }
      for offset in 0..<sent.count where self.subject(at: offset) == subject {
        confirm(at: offset)
        count += 1
      }
      return (count, popConfirmed())
    }

    /// Where a sent item is: marks ascend.
    private func offset(_ mark: UInt64) -> Int? {
      guard let first = sent.first, mark >= first.mark else { return nil }
      // Compared as they are: anybody can make up a mark.
      var (low, high) = (0, Int(min(mark - first.mark, UInt64(sent.count - 1))))
      // There it is, unless one before has been dropped.
      if sent[offset: high].mark == mark { low = high }
      while low < high {
        let middle = (low + high) / 2
        if sent[offset: middle].mark < mark { low = middle + 1 } else { high = middle }
      }
      return sent[offset: low].mark == mark ? low : nil
    }

    private mutating func confirm(at offset: Int) {
      let item = sent[offset: offset]
      if item.isConfirmed { return }
      sent[offset: offset].isConfirmed = true
      sentBytes -= Int(item.cost)
      if item.kind == .post { sentPosts -= 1 }
      // Its frame is not kept while an earlier item waits to be confirmed.
      if item.kind != .flush { frames.forget(item.place) }
    }

    /// Removes what is confirmed, with all before it.
    ///
    /// - Returns: The flushes that have ended.
    mutating func popConfirmed() -> [UInt64] {
      var flushed: [UInt64] = []
      while let first = sent.first, first.isConfirmed {
        if first.kind == .flush { flushed.append(first.token) }
        sent.removeFirst()
      }
      // A flush that the server has read may be behind posts that were to be sent again.
      while sent.isEmpty, front.isEmpty, let first = again.first, first.isConfirmed {
        if first.kind == .flush { flushed.append(first.token) }
        again.removeFirst()
      }
      return flushed
    }

    /// The subject of the post with a mark, while it is sent and not confirmed.
    func subject(_ mark: UInt64) -> String? { offset(mark).flatMap(subject(at:)) }

    /// The bytes of headers and payload of the post with a mark, likewise.
    func size(_ mark: UInt64) -> Int? { offset(mark).map { Int(sent[offset: $0].size) } }

    private func subject(at offset: Int) -> String? {
      let item = sent[offset: offset]
      return item.kind == .post && !item.isConfirmed ? frames.subject(item.place) : nil
    }

    /// Posts that were sent and not confirmed are to be sent again; requests and replies are not.
    mutating func rewind() {
      var waiting = CircularBuffer<Item>()
      for offset in 0..<sent.count {
        let kind = sent[offset: offset].kind
        if kind == .request || kind == .reply { confirm(at: offset) }
        let item = sent[offset: offset]
        if item.kind == .post, item.isConfirmed { continue }
        waitingBytes += Int(item.cost)
        waiting.append(item)
      }
      waiting.append(contentsOf: front)
      waiting.append(contentsOf: again)
      (sent, front, again) = (CircularBuffer(), CircularBuffer(), waiting)
      (sentBytes, sentPosts) = (0, 0)
    }

    /// The connection has ended: posts and flushes are to be sent again.
    ///
    /// - Returns: The correlations of the requests that were sent.
    mutating func disconnect() -> [UInt64] {
      rewind()
      let requests = again.filter { $0.kind == .request && $0.isConfirmed }.map(\.token)
      again.removeAll { $0.isConfirmed && $0.kind != .flush }
      for offset in 0..<again.count { again[offset: offset].isConfirmed = false }
      return requests
    }
  }
#endif
