#if NATS
  import CampanileRelay
  import NIOCore

  extension Outbox {
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
      func isRefused(_ item: Item) -> Bool {
        item.kind == .post && frames.subject(item.place) == subject
      }
      let refused = again.filter(isRefused)
      if !refused.isEmpty { again.removeAll(where: isRefused) }
      for item in refused {
        waitingBytes -= Int(item.cost)
        frames.forget(item.place)
      }
      var count = refused.count
      for offset in 0..<sent.count where self.subject(at: offset) == subject {
        confirm(at: offset)
        count += 1
      }
      return (count, popConfirmed())
    }

    /// Where a sent item is: marks ascend.
    func offset(_ mark: UInt64) -> Int? {
      guard let first = sent.first, mark >= first.mark else { return nil }
      // Compared as they are: anybody can make up a mark.
      var (low, high) = (0, Int(min(mark - first.mark, UInt64(sent.count - 1))))
      while low < high {
        let middle = (low + high) / 2
        if sent[offset: middle].mark < mark { low = middle + 1 } else { high = middle }
      }
      return sent[offset: low].mark == mark ? low : nil
    }

    mutating func confirm(at offset: Int) {
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

    func subject(at offset: Int) -> String? {
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
