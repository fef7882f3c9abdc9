#if Page
  import CampanileFoundation
  import Dispatch
  import Foundation
  import Testing
  import TestSupport

  @testable import Campanile
  @testable import CampanileInspector

  private struct Asked: MessageCenter.Message { var text = "" }
  private struct Told: MessageCenter.Message {}

  private final class Screen: Sendable {}

  @Suite("The page of an inspector")
  struct PageTests {
    let center = MessageCenter(label: "tower")
    /// Pages that tell news at once.
    let quick = PageLimits(
      patience: patience, interval: .milliseconds(5), rest: 0, quietIntervals: 3)

    @Test("The document allows its own style and script, and nothing else")
    func document() async throws {
      let page = try await Inspector(of: center).serve(.patient)
      let answers = [
        try await PageClient.ask(page, page.request()),
        try await PageClient.ask(page, page.request()),
      ]
      let nonces = try answers.map { answer in
        #expect(answer.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        for field in [
          "Content-Type: text/html; charset=utf-8", "Cache-Control: no-store",
          "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
          "Content-Length: \(answer.body.utf8.count)",
        ] {
          #expect(answer.head.contains("\r\n\(field)"))
        }
        let policy = try #require(
          answer.head.split(separator: "\r\n").first { $0.hasPrefix("Content-Security-Policy: ") })
        #expect(policy.contains("default-src 'none'; "))
        #expect(policy.contains("connect-src 'self'; "))
        #expect(!policy.contains("unsafe"))
        let nonce = try #require(policy.split(separator: "'").first { $0.hasPrefix("nonce-") })
        #expect(policy.contains("script-src '\(nonce)'; "))
        #expect(answer.body.contains("<script nonce=\"\(nonce.dropFirst(6))\">"))
        #expect(!answer.body.contains("innerHTML"))
        #expect(!answer.body.contains("http"))
        return nonce
      }
      #expect(nonces[0] != nonces[1])
      await page.stop()
    }

    @Test("The stream says what the program did")
    func content() async throws {
      let inspector = Inspector(of: center, values: true)
      let screen = Screen()
      let line = #line + 1
      center.observe(Asked.self, owner: screen) { [center] _, _ in center.post(Told()) }
      let told = center.observe(Told.self) { _ in }
      let held = ManualTarget()
      let kept = center.observe(Told.self, on: held.delivery) { _ in }
      let bounded = center.observe(Told.self, on: held.delivery.buffered(.newest(1))) { _ in }
      let paused = center.observe(Told.self) { _ in }
      paused.pause()
      for number in 1...3 { center.post(Asked(text: "\(number)")) }

      let page = try await inspector.serve(quick)
      let stream = try #require(try await PageEvents(page))
      let types = try await stream.rows("types", of: TypeRow.self) { $0.count == 2 }
      #expect(types.map(\.type).sorted() == ["Asked", "Told"])
      for row in types {
        #expect((row.source, row.posts, row.calls) == ("MessageCenter tower", 3, 3))
        let isTold = row.type == "Told"
        #expect((row.dropped, row.skipped, row.failed) == (isTold ? 2 : 0, isTold ? 3 : 0, 0))
      }

      let observers = try await stream.rows("observers", of: ObserverRow.self) { _ in true }
      let asking = try #require(observers.first { $0.owner == "Screen" })
      #expect(asking.place == "CampanileInspectorTests/PageTests.swift:\(line)")
      #expect((asking.calls, asking.delivery) == (3, ".immediate"))

      let registrations = try await stream.rows("registrations", of: RegistrationRow.self) { _ in
        true
      }
      #expect(registrations.count == 5)
      #expect(registrations.map(\.count) == [1, 1, 1, 1, 1])
      let byPlace = Dictionary(uniqueKeysWithValues: registrations.map { ($0.place, $0) })
      let file = "CampanileInspectorTests/PageTests.swift"
      #expect(byPlace["\(file):\(line)"]?.owner == "Screen")
      #expect(byPlace["\(file):\(line + 3)"]?.waiting == 3)
      #expect(byPlace["\(file):\(line + 4)"]?.waiting == 1)
      #expect(byPlace["\(file):\(line + 4)"]?.dropped == 2)
      #expect(byPlace["\(file):\(line + 5)"]?.paused == 1)
      #expect(registrations.map(\.paused).reduce(0, +) == 1)

      let posts = try await stream.rows("posts", of: PostRow.self) { _ in true }
      #expect(posts.map(\.type) == ["Asked", "Told", "Asked", "Told", "Asked", "Told"])
      for index in stride(from: 0, to: posts.count, by: 2) {
        #expect(posts[index].parent == nil)
        #expect(posts[index].value?.contains("\"\(index / 2 + 1)\"") == true)
        #expect(posts[index].calls.map(\.place) == ["\(file):\(line)"])
        #expect(posts[index].calls[0].took != nil)
        #expect(posts[index + 1].parent == posts[index].number)
        #expect(posts[index + 1].calls.map(\.place) == ["\(file):\(line + 1)"])
      }

      held.runJobs()
      let later = try await stream.rows("registrations", of: RegistrationRow.self) { rows in
        rows.allSatisfy { $0.waiting == 0 }
      }
      #expect(later.count == 5)
      withExtendedLifetime((screen, told, kept, bounded)) {}
      await page.stop()
    }

    @Test("Types at two sources of one name are told apart")
    func oneName() async throws {
      let other = MessageCenter(label: "tower")
      let page = try await Inspector(of: center, other).serve(quick)
      center.post(Told())
      other.post(Told())
      let stream = try #require(try await PageEvents(page))
      let rows = try await stream.rows("types", of: TypeRow.self) { $0.count == 2 }
      #expect(Set(rows.map(\.source)).count == 1)
      #expect(Set(rows.map(\.sourceNumber)).count == 2)
      await page.stop()
    }

    @Test(
      "What a sequence has not read is waiting, and the numbers of alike observers are added up")
    func grouped() async throws {
      let inspector = Inspector(of: center)
      let values = center.messages(of: Told.self).values(buffering: .unbounded)
      var tokens = (0..<1_000).map { _ in center.observe(Asked.self) { _ in } }
      let target = ManualTarget()
      let bounded = (0..<3).map { _ in
        center.observe(Told.self, on: .target(target, buffering: .newest(3))) { _ in }
      }
      bounded[2].pause()
      tokens += bounded
      for _ in 0..<7 { center.post(Told()) }
      let page = try await inspector.serve(quick)
      let stream = try #require(try await PageEvents(page))
      let rows = try await stream.rows("registrations", of: RegistrationRow.self) { _ in true }
      #expect(rows.map(\.count) == [1_000, 3, 1])
      #expect(rows.map(\.waiting) == [0, 6, 7])
      #expect(rows.map(\.dropped) == [0, 8, 0])
      #expect(rows.map(\.paused) == [0, 1, 0])
      withExtendedLifetime((values, tokens)) {}
      await page.stop()
    }

    @Test("Rows beyond the limit are counted, and are part of the sums")
    func leftOut() throws {
      let sources = (0..<PageRows.rowLimit + 7).map { _ in Broadcaster<Int>() }
      let trace = Trace(last: 10, callers: false)
      for source in sources { trace.add(source) }
      let tokens = sources.map { $0.observe { _ in } }
      for source in sources { source.send(1) }
      let sections = Dictionary(
        uniqueKeysWithValues: PageRows(trace).types.map { ($0.name, Data($0.json.utf8)) })
      let types = try JSONDecoder().decode(
        ShownTable<TypeRow>.self, from: #require(sections["types"]))
      #expect((types.rows.count, types.leftOut) == (PageRows.rowLimit, 7))
      let sums = try JSONDecoder().decode([String: Int].self, from: #require(sections["sums"]))
      #expect((sums["posts"], sums["calls"]) == (sources.count, sources.count))
      withExtendedLifetime(tokens) {}
    }

    #if canImport(Glibc)
      @Test("A page that has stopped leaves no file open")
      func descriptors() async {
        await #expect(processExitsWith: .success) {
          let inspector = Inspector(of: MessageCenter())
          func serve() async throws -> Int {
            let page = try await inspector.serve()
            _ = try await PageClient.ask(page, page.request())
            await page.stop()
            return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
          }
          let before = try await serve()
          for _ in 0..<20 { #expect(try await serve() <= before) }
        }
      }
    #endif

    @Test("Only what has changed is sent, and a comment while nothing does")
    func changes() async throws {
      let page = try await Inspector(of: center).serve(quick)
      let stream = try #require(try await PageEvents(page))
      var names: [String] = []
      try await answer {
        let name = try await stream.next()?.name ?? "end"
        if !name.isEmpty { names.append(name) }
        return names.count == 13 ? () : nil
      }
      let tables = ["graph", "observers", "posts", "registrations", "stuck", "types"]
      #expect(names.sorted() == (tables + tables.map { "rest-\($0)" } + ["sums"]).sorted())
      for _ in 0..<3 { #expect(try await stream.next()?.name.isEmpty == true) }
      let token = center.observe(Asked.self) { _ in }
      let next = try await answer {
        let name = try await stream.next()?.name
        return name == "" ? nil : .some(name)
      }
      #expect(next == "registrations")
      withExtendedLifetime(token) {}
      await page.stop()
    }

    @Test("A browser that has left makes room for another")
    func left() async throws {
      var limits = quick
      limits.streams = 1
      let page = try await Inspector(of: center).serve(limits)
      for _ in 0..<3 {
        var stream: PageEvents? = try await answer { try await PageEvents(page) }
        #expect(try await stream?.next() != nil)
        #expect(try await PageEvents(page) == nil)
        // Leaves, and tells nobody but by closing its connection.
        stream = nil
      }
      await page.stop()
    }

    @Test("Nothing is looked at while no browser shows the page")
    func idle() async throws {
      let list = WatchedList(registry: ObserverRegistry(), valueType: Int.self)
      let source = Broadcaster<Int>(registry: list.registry, list: list)
      let inspector = Inspector(of: source)
      let page = try await inspector.serve(quick)
      source.send(1)
      #expect(try await PageClient.ask(page, page.request()).status == 200)
      #expect(list.looks.values.isEmpty)
      let stream = try #require(try await PageEvents(page))
      _ = try await stream.rows("types", of: TypeRow.self) { _ in true }
      #expect(!list.looks.values.isEmpty)
      await page.stop()
    }

    @Test("Stopping ends the streams and frees the port")
    func stop() async throws {
      let inspector = Inspector(of: center)
      let page = try await serveOnQuietPort(inspector)
      let stream = try #require(try await PageEvents(page))
      await page.stop()
      try await stream.expectEnd()
      await #expect(throws: (any Error).self) { try await PageClient(page) }
      await page.stop()
      let again = try await inspector.serve(port: page.port, quick)
      #expect(again.port == page.port)
      #expect(try await PageClient.ask(again, again.request()).status == 200)
      #expect(try await PageClient.ask(again, page.request()).status == 404)
      await again.stop()
    }

    /// Serves on a port below those that the system gives to connections and to other pages.
    ///
    /// Nobody else takes the port when it is free again.
    private func serveOnQuietPort(_ inspector: Inspector) async throws -> InspectorPage {
      try await answer {
        do {
          return try await inspector.serve(port: .random(in: 10_000..<20_000), quick)
        } catch let error as InspectorError where error.code == .portUnavailable {
          return nil
        }
      }
    }

    @Test("Releasing the page ends it, and the last of page and inspector the trace")
    func release() async throws {
      let traces = LeakTracker()
      var page: InspectorPage?
      do {
        let inspector = Inspector(of: center)
        traces.track(inspector.trace)
        page = try await inspector.serve(quick)
      }
      let stream: PageEvents
      do {
        let served = try #require(page)
        stream = try #require(try await PageEvents(served))
      }
      center.post(Told())
      // The page keeps the trace, and goes on.
      _ = try await stream.rows("types", of: TypeRow.self) { $0.map(\.posts) == [1] }
      #expect(traces.alive.count == 1)
      page = nil
      try await stream.expectEnd()
      try await traces.expectGone(within: patience)
    }

    @Test("A search finds rows beyond the top of a table")
    func search() async throws {
      let tokens =
        (0..<PageRows.rowLimit + 7).map { center.observe(Told.self, line: UInt($0)) { _ in } }
        + (1...2).flatMap { _ in
          (0..<PageRows.rowLimit).map { center.observe(Asked.self, line: UInt($0)) { _ in } }
        }
      let page = try await Inspector(of: center).serve(quick)
      for (search, isFound) in [("", false), ("Told%20%C3%A9", false), ("Told%20.swift:3", true)] {
        let query = search.isEmpty ? "" : "?search=\(search)"
        let stream = try #require(try await PageEvents(page, query))
        let rows = try await stream.rows("registrations", of: RegistrationRow.self) { _ in true }
        #expect(rows.contains { $0.type == "Told" && $0.place.hasSuffix(":3") } == isFound)
        #expect(rows.isEmpty == search.contains("C3"))
      }
      withExtendedLifetime(tokens) {}
      await page.stop()
    }

    @Test("A line whose count has only grown comes first, until it falls")
    func leaks() {
      let trace = Trace(of: center, callers: false)
      let growth = RegistrationGrowth()
      let many = (1...20).map { _ in center.observe(Told.self, line: 1) { _ in } }
      var few: [ObservationToken] = []
      func first() -> [Bool] {
        let rows = growth.first(10, of: RegistrationRow.rows(trace))
        return [
          rows[0].place.hasSuffix(":2"), rows[0].grows,
          rows.contains { $0.place.hasSuffix(":1") && $0.grows },
        ]
      }
      for look in 1...5 {
        few.append(center.observe(Told.self, line: 2) { _ in })
        let isSuspect = look > 3
        #expect(first() == [isSuspect, isSuspect, false])
      }
      // It stays one while nothing changes.
      #expect(first() == [true, true, false])
      few.removeLast()
      #expect(first() == [false, false, false])
      withExtendedLifetime((many, few)) {}
    }

    @Test("A registration that two sources have is counted once")
    func sameRegistrations() {
      let token = center.observe(Told.self) { _ in }
      #expect(RegistrationRow.rows(Trace(of: center, center)).map(\.count) == [1])
      withExtendedLifetime(token) {}
    }

    @Test("Notifications are shown by their names, and those observed on one line apart")
    func names() {
      let center = NotificationCenter()
      let names = ["Opened", "Closed"].map { Notification.Name($0) }
      let trace = Trace(of: center.allNotifications)
      let tokens = names.map { center.notifications(of: $0).observe { _ in } }
      for name in names { center.post(name: name, object: nil) }
      #expect(Set(RegistrationRow.rows(trace).map(\.type)).isSuperset(of: ["Opened", "Closed"]))
      #expect(trace.posts.map { PostRow($0).type } == ["Opened", "Closed"])
      withExtendedLifetime(tokens) {}
    }

    @Test("The last posts are the newest ones, with their calls and causes")
    func lastPosts() throws {
      let trace = Trace(of: center, last: 1_000, callers: false)
      let token = center.observe(Asked.self) { [center] _ in center.post(Told()) }
      for _ in 1...200 { center.post(Asked()) }
      let section = try #require(PageRows(trace).posts.first)
      let posts = try JSONDecoder().decode(ShownTable<PostRow>.self, from: Data(section.json.utf8))
        .rows
      #expect(posts.map(\.number) == trace.posts.suffix(PageRows.rowLimit).map(\.number))
      #expect(posts.last?.parent == posts[posts.count - 2].number)
      #expect(posts.filter { $0.type == "Asked" }.allSatisfy { $0.calls.first?.took != nil })
      withExtendedLifetime(token) {}
    }

    @Test("A post is shown before its callers have been looked up, and with them later")
    func lookedUpLater() async throws {
      let trace = Trace(of: center)
      center.post(Told())
      func place() -> String? {
        TracedPosts(last: 1, trace.storage).all.map { PostRow($0) }[0].place
      }
      #expect(place() == "…")
      let found = try await answer { place() == "…" ? nil : .some(place()) }
      #expect(found?.contains("PageTests.swift") == true)
    }

    @Test("Of a post with many calls, the number of those that are not shown is")
    func manyCalls() {
      let trace = Trace(of: center, callers: false)
      let tokens = (1...53).map { _ in center.observe(Told.self) { _ in } }
      center.post(Told())
      let rows = trace.posts.map { PostRow($0) }
      #expect(rows.map(\.calls.count) == [50])
      #expect(rows.map(\.leftOut) == [3])
      withExtendedLifetime(tokens) {}
    }

    @Test("After a pause, the page does not begin with what was before it")
    func pause() async throws {
      let time = Locked(ContinuousClock.now)
      let count = Locked(0)
      let feed = PageFeed("count", interval: .seconds(1), rest: 9, now: { time.withLock { $0 } }) {
        let made = count.withLock { count in
          count += 1
          return count
        }
        return [PageSection(name: "count", json: "\(made)")]
      }
      func next() async throws -> String {
        try await answer { await feed.sections().first?.json }
      }
      #expect(try await next() == "1")
      time.withLock { $0 = $0.advanced(by: .seconds(3_600)) }
      #expect(try await next() == "2")
      // It has been shown in time, and grows old again.
      time.withLock { $0 = $0.advanced(by: .seconds(3_600)) }
      #expect(try await next() == "3")
      // Whoever always asks late is shown something, too.
      var shown: Set<String> = []
      try await answer {
        time.withLock { $0 = $0.advanced(by: .seconds(10)) }
        if let section = await feed.sections().first { shown.insert(section.json) }
        return shown.count < 2 ? nil : ()
      }
    }

    @Test(
      "After a computation that used a processor for long, the feed rests longer, and says how long",
      arguments: [(1, 1, 9), (7, 7, 60), (4, 0, 1), (1, 0.25, 2.25)])
    func rest(took: Double, used: Double, rested: Double) async throws {
      let start = ContinuousClock.now
      let time = Locked(start)
      let feed = PageFeed(
        "empty", interval: .seconds(1), rest: 9, now: { time.withLock { $0 } },
        used: { time.withLock { $0 == start ? .zero : .seconds(used) } }
      ) {
        time.withLock { $0 = $0.advanced(by: .seconds(took)) }
        return [PageSection(name: "empty", json: "")]
      }
      let told = try await answer { await feed.sections().last }
      let seconds = used == 0 ? 0 : Int(rested.rounded(.up))
      #expect(told.name == "rest-empty" && told.json == "\(seconds)")
      #expect(await feed.next == start.advanced(by: .seconds(took + rested)))
    }

    @Test("A port that is taken is an error with a code")
    func taken() async throws {
      let inspector = Inspector(of: center)
      let page = try await inspector.serve()
      let error = await #expect(throws: InspectorError.self) {
        try await inspector.serve(port: page.port)
      }
      #expect(error?.code == .portUnavailable)
      #expect(error?.description.hasPrefix("Port \(page.port) cannot be listened on: ") == true)
      await page.stop()
    }
  }

  /// A list that notes each look at its registrations.
  private final class WatchedList: ObserverList, @unchecked Sendable {
    let looks = Recorder<Int>()

    override func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
      looks.record(1)
      return super.parts(held)
    }
  }
#endif
