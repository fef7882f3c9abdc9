#if NATS
  import CampanileRelay
  import NIOCore
  import Testing

  @testable import CampanileNATS

  extension Outbox {
    /// Appends a post whose subject is a number.
    fileprivate mutating func append(_ number: Int, bytes: Int = 0, dropped: (String) -> Void) {
      var posts = RelayPosts()
      posts.append(
        RelayPosts.Heading(subject: "\(number)", version: 0), [UInt8](repeating: 0, count: bytes))
      append(posts, dropped: dropped)
    }

    fileprivate init(limit: Int, isStored: Bool = false) {
      self.init(
        PostHead.Sender(
          id: "x", name: "y", acknowledgments: "z", seal: ReplySeal(), isStored: isStored),
        limit: limit)
    }

    fileprivate mutating func append(_ kind: Kind, _ correlation: UInt64 = 0) {
      append(kind, correlation: correlation, head: Array("HPUB a ".utf8), payload: [], size: 0)
    }

    /// Sends what may be sent: what it is, and the frames together.
    fileprivate mutating func send() -> (items: [String], frames: String) {
      var (sent, output): ([String], ByteBuffer) = ([], ByteBuffer())
      while let item = next() {
        switch item.kind {
        case .post: sent.append(subject(item.mark) ?? "")
        case .request: sent.append("request \(item.token)")
        case .reply: sent.append("reply")
        case .flush: sent.append("flush \(item.token)")
        }
        if item.kind != .flush { write(item, to: &output) }
      }
      endRun(to: &output)
      return (sent, String(buffer: output))
    }
  }

  @Suite("What a relay has to send to a server of NATS")
  struct OutboxTests {
    private func sendAll(_ outbox: inout Outbox) -> [String] {
      let (items, frames) = outbox.send()
      let subjects = frames.split(separator: "HPUB ").compactMap { $0.split(separator: " ").first }
      // What is written is what is sent, in the same order.
      #expect(
        subjects.filter { $0 != "a" }.map(String.init) == items.filter { Int($0) != nil })
      return items
    }

    @Test("What was not confirmed is sent again, in order, but for requests and replies")
    func again() {
      var outbox = Outbox(limit: 1 << 20)
      for number in 1...3 { outbox.append(number) { _ in } }
      outbox.append(.request, 7)
      outbox.append(.reply)
      outbox.appendFlush(9)
      #expect(sendAll(&outbox) == ["1", "2", "3", "request 7", "reply", "flush 9"])
      #expect(outbox.confirm(through: 1) == [])
      outbox.append(.request, 8)
      #expect(outbox.disconnect() == [7])
      #expect(sendAll(&outbox) == ["2", "3", "flush 9", "request 8"])
      #expect(outbox.confirm(through: outbox.sentMark) == [9])
      #expect(outbox.isEmpty)
    }

    @Test("A mark above what was sent confirms no more than that")
    func earlyMark() {
      var outbox = Outbox(limit: 1 << 20)
      outbox.appendFlush(1)
      #expect(outbox.confirm(through: 100) == [])
      #expect(sendAll(&outbox) == ["flush 1"])
      #expect(outbox.confirm(through: 100) == [1])
    }

    @Test("Without room the oldest go, and each is told")
    func bounded() {
      var outbox = Outbox(limit: 10_020)
      var dropped: [String] = []
      outbox.appendFlush(1)
      for number in 1...20 { outbox.append(number, bytes: 872) { dropped.append($0) } }
      let all = (1...20).map { "\($0)" }
      let (first, last) = (Array(all[..<10]), Array(all[10...]))
      #expect(dropped == first)
      #expect(sendAll(&outbox) == ["flush 1"] + last)
    }

    @Test("No more than a window is sent without being confirmed")
    func window() {
      var outbox = Outbox(limit: 64 << 20)
      for number in 0..<20 { outbox.append(number, bytes: 1 << 20) { _ in } }
      #expect(sendAll(&outbox).count == 4)
      #expect(sendAll(&outbox).isEmpty)
      _ = outbox.confirm(through: 2)
      #expect(sendAll(&outbox) == ["4", "5"])
      _ = outbox.disconnect()
      #expect(sendAll(&outbox) == ["2", "3", "4", "5"])
    }
  }

  extension OutboxTests {
    @Test("R6 However many are dropped without a connection, no more than the limit is kept")
    func droppedMemory() {
      var outbox = Outbox(limit: 100_401)
      for number in 1...100 { outbox.append(number, bytes: 872) { _ in } }
      outbox.appendFlush(1)
      // Some have been sent, and are to be sent again.
      #expect(sendAll(&outbox).count == 101)
      _ = outbox.disconnect()
      var dropped: [String] = []
      for number in 101...10_000 { outbox.append(number, bytes: 872) { dropped.append($0) } }
      #expect(dropped == (1...9_900).map { "\($0)" })
      #expect(outbox.itemCount == 1)
      #expect(outbox.frameMemory == 0)
      #expect(sendAll(&outbox) == ["flush 1"] + (9_901...10_000).map { "\($0)" })
      #expect(outbox.confirm(through: outbox.sentMark) == [1])
      #expect(outbox.isEmpty)
    }

    @Test("R6 Names and paths count, too", arguments: [true, false])
    func longNames(together: Bool) {
      var outbox = Outbox(limit: 100_000)
      var dropped = 0
      let name = String(repeating: "n", count: 3_000)
      var posts = RelayPosts()
      for number in 1...100 {
        // Each costs 4,000 bytes.
        posts.append(
          RelayPosts.Heading(
            subject: name + "\(number % 10)", version: 0, path: Array(repeating: 1, count: 100)),
          [UInt8](repeating: 0, count: 71))
        if together, number < 100 { continue }
        outbox.append(posts) { _ in dropped += 1 }
        posts = RelayPosts()
      }
      #expect(dropped == 75)
      var count = 0
      while outbox.next() != nil { count += 1 }
      #expect(count == 25)
      // What has left makes as much room as it took.
      _ = outbox.disconnect()
      for _ in 1...25 { _ = outbox.next() }
      _ = outbox.confirm(through: outbox.sentMark)
      #expect(outbox.isEmpty)
      for number in 1...25 {
        posts.append(
          RelayPosts.Heading(
            subject: name + "\(number % 10)", version: 0, path: Array(repeating: 1, count: 100)),
          [UInt8](repeating: 0, count: 71))
      }
      outbox.append(posts) { _ in dropped += 1 }
      #expect(dropped == 75)
    }

    @Test("R7 Posts that there is no room for leave no gap in the numbers")
    func droppedNumbers() {
      var outbox = Outbox(limit: 1_000)
      var dropped = 0
      for round in 1...3 {
        for _ in 1...10 {
          var posts = RelayPosts()
          for _ in 1...2 {
            posts.append(RelayPosts.Heading(subject: "a", version: 0), [1, 2, 3])
          }
          outbox.append(posts) { subject in
            #expect(subject == "a")
            dropped += 1
          }
        }
        let numbers = outbox.send().frames.split(separator: "Campanile: x ").dropFirst()
          .compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
        #expect(numbers == Array((7 * round - 6)...(7 * round)))
        #expect(dropped == 13 * round)
      }
    }

    @Test("The frame of a post has the lengths and the numbers of that post")
    func digits() {
      for isStored in [false, true] {
        let seal = ReplySeal()
        let sender = PostHead.Sender(
          id: "ab", name: "me", acknowledgments: "in.a", seal: seal, isStored: isStored)
        var head = PostHead(sender)
        head.begin(RelayPosts.Heading(subject: "a", version: 3, path: [255]))
        for (number, mark, count) in [
          (1, 1, 0), (2, 2, 9), (9, 9, 100), (10, 100, 101), (11, 1, 4), (12, 2, 4), (5, 3, 4),
        ] as [(UInt64, UInt64, Int)] {
          head.write(number: number, since: 1, mark: mark, count: count)
          let headers =
            "NATS/1.0\r\nCampanile: ab \(number) 1 3 me ff\r\n"
            + (isStored ? "Nats-Msg-Id: ab-\(seal.sealed("a\(mark)").dropFirst())\r\n" : "")
            + "\r\n"
          let reply = isStored ? "in.\(seal.sealed("a\(mark)")) " : ""
          let (length, all) = (headers.utf8.count, headers.utf8.count + count)
          #expect(
            String(decoding: head.bytes, as: UTF8.self)
              == "HPUB a \(reply)\(length) \(all)\r\n\(headers)")
          #expect(head.headerCount == length)
        }
      }
    }
  }

  @Suite("What a relay has to send to a stream")
  struct StoredOutboxTests {
    private func outbox() -> Outbox {
      var outbox = Outbox(limit: 1 << 20, isStored: true)
      for number in 1...3 { outbox.append(number) { _ in } }
      outbox.appendFlush(9)
      return outbox
    }

    private func sendAll(_ outbox: inout Outbox) -> [UInt64] {
      var marks: [UInt64] = []
      while let item = outbox.next() { marks.append(item.mark) }
      return marks
    }

    @Test("A flush ends when each post before it has been stored, in whatever order")
    func flush() {
      var outbox = outbox()
      #expect(sendAll(&outbox) == [1, 2, 3, 4])
      #expect(outbox.confirm(through: 4) == [])
      #expect(outbox.stored(3) == [])
      #expect(outbox.stored(1) == [])
      #expect(outbox.stored(7) == [])
      #expect(outbox.stored(2) == [9])
      #expect(outbox.isEmpty)
    }

    @Test("A request and a reply are sent once, also when posts are sent again")
    func once() {
      var outbox = outbox()
      outbox.append(.request, 7)
      outbox.append(.reply)
      #expect(sendAll(&outbox) == [1, 2, 3, 4, 5, 6])
      outbox.rewind()
      #expect(sendAll(&outbox) == [1, 2, 3, 4])
      #expect(outbox.disconnect() == [7])
    }

    @Test("What was stored is not kept while an earlier post waits")
    func kept() {
      var outbox = outbox()
      _ = sendAll(&outbox)
      _ = outbox.stored(2)
      #expect(outbox.subject(1) != nil)
      #expect(outbox.subject(2) == nil)
      #expect(outbox.oldestPost == 1)
    }

    @Test("What was not stored is sent again with its mark")
    func again() {
      var outbox = outbox()
      _ = sendAll(&outbox)
      _ = outbox.stored(2)
      outbox.rewind()
      #expect(outbox.subject(1) == nil)
      #expect(sendAll(&outbox) == [1, 3, 4])
      #expect(outbox.subject(1) != nil)
      _ = outbox.confirm(through: 4)
      #expect(outbox.disconnect() == [])
      // A flush is to be confirmed by the next connection too.
      #expect(sendAll(&outbox) == [1, 3, 4])
      #expect(outbox.stored(1) == [])
      #expect(outbox.stored(3) == [])
      #expect(outbox.confirm(through: 4) == [9])
    }
  }

  @Suite("Numbers of messages on NATS")
  struct MessageNumbersTests {
    @Test("Each subject is counted from one")
    func sent() {
      var sent = SentNumbers()
      #expect(sent.next("a") == (1, 1))
      #expect(sent.next("a") == (2, 1))
      #expect(sent.next("b") == (1, 1))
      #expect(sent.all == ["a": 2, "b": 1])
    }

    @Test("When too many subjects are counted, all are counted anew, above what was")
    func manySubjects() {
      var (sent, heard) = (SentNumbers(limit: 2), HeardNumbers())
      let names = ["a", "a", "a", "b", "c", "a", "d", "a", "b", "b"]
      var last: [String: UInt64] = [:]
      for name in names {
        let (number, since) = sent.next(name)
        #expect(number > last[name] ?? 0)
        last[name] = number
        #expect(heard.hear(number, since: since, from: 1, name) == .new(lost: 0))
      }
    }

    @Test("Gaps are losses, and what is not above the last is a double")
    func heard() {
      var heard = HeardNumbers()
      #expect(heard.hear(5, since: 1, from: 1, "a") == .new(lost: 0))
      #expect(heard.hear(6, since: 1, from: 1, "a") == .new(lost: 0))
      #expect(heard.hear(6, since: 1, from: 1, "a") == .double)
      #expect(heard.hear(9, since: 1, from: 1, "a") == .new(lost: 2))
      #expect(heard.hear(7, since: 1, from: 1, "a") == .double)
      #expect(heard.hear(1, since: 1, from: 2, "a") == .new(lost: 0))
      #expect(heard.hear(1, since: 1, from: 1, "b") == .new(lost: 0))
      // Its sender has counted anew: nobody knows what was between.
      #expect(heard.hear(20, since: 20, from: 1, "a") == .new(lost: 0))
      heard.forget { $0 == "a" }
      #expect(heard.hear(30, since: 20, from: 1, "a") == .new(lost: 0))
      #expect(heard.hear(3, since: 1, from: 1, "b") == .new(lost: 1))
    }

    @Test("The last numbers of a sender are losses, once, and only after a message was heard")
    func lastNumbers() {
      var heard = HeardNumbers()
      #expect(heard.hasSent(5, since: 1, from: 1, "a") == 0)
      #expect(!heard.knows(1))
      #expect(heard.hear(5, since: 1, from: 1, "a") == .new(lost: 0))
      #expect(heard.knows(1))
      for (number, lost) in [(4, 0), (5, 0), (8, 3), (8, 0), (9, 1)] as [(UInt64, Int)] {
        #expect(heard.hasSent(number, since: 1, from: 1, "a") == lost)
      }
      #expect(heard.hear(12, since: 1, from: 1, "a") == .new(lost: 2))
      #expect(heard.hear(14, since: 1, from: 1, "a") == .new(lost: 1))
      // What somebody has invented hides no message, and no later loss.
      #expect(heard.hasSent(.max, since: 1, from: 1, "a") == 0)
      #expect(heard.hasSent(100, since: 1, from: 1, "a") == 86)
      #expect(heard.hear(15, since: 1, from: 1, "a") == .new(lost: 0))
      #expect(heard.hear(17, since: 1, from: 1, "a") == .new(lost: 1))
      #expect(heard.hear(.max, since: .max, from: 2, "a") == .new(lost: 0))
      #expect(heard.hasSent(.max, since: 1, from: 2, "a") == 0)
      // Its sender has counted anew.
      #expect(heard.hasSent(30, since: 25, from: 1, "a") == 0)
    }

    @Test("A number that somebody has invented neither hides later ones, nor makes sums overflow")
    func invented() {
      for invented in [.max, 1 << 62, 1 << 33, 1 << 25] as [UInt64] {
        var (heard, sum) = (HeardNumbers(), 0)
        for number in [5, invented, 6, 7, invented, invented, 8, 7] as [UInt64] {
          switch heard.hear(number, since: 1, from: 1, "a") {
          case .double: #expect(number == invented || number == 7)
          case .new(let lost):
            sum += lost ?? 0
            if number != invented { #expect(lost == nil || lost == 0) }
          }
        }
        #expect(heard.hear(9, since: 1, from: 1, "a") == .new(lost: 0))
        #expect(sum <= 1 << 33)
      }
      // Before anything else has been heard, too.
      var heard = HeardNumbers()
      #expect(heard.hear(.max, since: .max, from: 1, "a") == .new(lost: 0))
      #expect(heard.hear(3, since: 1, from: 1, "a") == .new(lost: nil))
      #expect(heard.hear(3, since: 1, from: 1, "a") == .double)
    }

    @Test("What has not been heard for long is forgotten, and memory is bounded")
    func forgetting() {
      var heard = HeardNumbers(limit: 10)
      for number in 1...1_000 {
        #expect(heard.hear(1, since: 1, from: UInt64(number), "a") == .new(lost: 0))
        #expect(heard.hear(UInt64(number) + 1, since: 1, from: 0, "a") != .double)
      }
      #expect(heard.hear(3, since: 1, from: 1_000, "a") == .new(lost: 1))
      #expect(heard.hear(3, since: 1, from: 1, "a") == .new(lost: 0))
    }
  }

  @Suite("Who is there on NATS")
  struct PresenceTests {
    private func line(_ id: UInt64, _ seconds: Int = 10) -> Presence.Line {
      Presence.Line(id: id, processID: 5, seconds: seconds, name: "a b")
    }

    @Test("Lines say the same when they are read, and others are none")
    func lines() {
      #expect(Presence.Line(Array(line(255).text.utf8)) == line(255))
      for text in ["", "x", "g 1 2 n", "1 2 -3 n", "1 2 3", "1 2 3 %", "1 2 3 n n", "1 2 9999 n"] {
        let line = Presence.Line(Array(text.utf8))
        #expect(line == nil || text == "1 2 3 %")
      }
    }

    @Test("Who says nothing more is gone, and who leaves at once")
    func leaving() {
      var presence = Presence()
      #expect(presence.heard(line(1)) == true)
      #expect(presence.heard(line(1)) == false)
      #expect(presence.heard(line(2)) == true)
      #expect(presence.heard(line(2, 0)) == true)
      #expect(presence.heard(line(2, 0)) == false)
      let changes = (0..<31).map { _ in presence.tick().hasChanged }
      #expect(changes.firstIndex(of: true) == 30)
      #expect(presence.list.isEmpty)
    }

    @Test("The more there are, the rarer each speaks")
    func rates() {
      var presence = Presence()
      #expect(presence.interval == 10)
      for id in 1...1_000 { _ = presence.heard(line(UInt64(id), 100)) }
      #expect(presence.interval == 100)
      let times = (1...400).filter { _ in presence.tick().announces }
      #expect(times.count <= 30)
      for id in 1...10_000 { _ = presence.heard(line(UInt64(id))) }
      #expect(presence.list.count <= 4_096)
    }
  }
#endif
