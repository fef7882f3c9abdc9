import Campanile
import Foundation
import TestSupport
import Testing

@testable import CampanileInspector

@Suite("A trace's file", .ownThread)
struct TraceFileTests {
  /// What a reader of the format sees of an entry.
  private struct Entry: Decodable {
    var ph: String
    var name: String
    var tid: UInt64
    var ts: Double
    var dur: Double?
    var id: UInt64?
    var bp: String?
    var args: [String: Argument]?

    var end: Double { ts + (dur ?? 0) }
    func contains(_ other: Entry) -> Bool {
      tid == other.tid && ts <= other.ts && other.end <= end + 0.001
    }
  }

  private enum Argument: Decodable, Equatable {
    case text(String)
    case number(UInt64)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      self =
        if let number = try? container.decode(UInt64.self) {
          .number(number)
        } else {
          .text(try container.decode(String.self))
        }
    }
  }

  private struct File: Decodable {
    var traceEvents: [Entry]

    init(_ trace: Trace) throws {
      self = try JSONDecoder().decode(File.self, from: Data(trace.json().utf8))
    }

    func slices(_ text: String) -> [Entry] {
      traceEvents.filter { $0.ph == "X" && $0.name.contains(text) }
    }
  }

  @Test("Slices are nested as the calls were: post, observer, nested post")
  func nesting() throws {
    let center = MessageCenter()
    let outer = center.observe(Rang.self) { _ in center.post(Answered(), about: Bell()) }
    let line = #line - 1
    let inner = center.observe(Answered.self) { _ in }
    let trace = Trace(of: center, values: true, callers: false)
    center.post(Rang(number: 3))
    let file = try File(trace)
    let rang = try #require(file.slices("post Rang").first)
    let call = try #require(file.slices("TraceFileTests.swift:\(line)").first)
    let answered = try #require(file.slices("post Answered").first)
    let innerCall = try #require(file.slices("TraceFileTests.swift:\(line + 2)").first)
    #expect(rang.contains(call))
    #expect(call.contains(answered))
    #expect(answered.contains(innerCall))
    #expect(answered.args?["cause"] == rang.args?["post"])
    #expect(rang.args?["value"] == .text("Rang(number: 3)"))
    #expect(rang.args?["source"] == .text("MessageCenter"))
    #expect(call.args?["delivery"] == .text(".immediate"))
    #expect(
      file.traceEvents.contains { $0.ph == "M" && $0.name == "thread_name" && $0.tid == rang.tid })
    withExtendedLifetime((outer, inner)) {}
  }

  @Test(
    "A call whose beginning was overwritten is as long as it was, and no post is inside it by error"
  )
  func overwritten() throws {
    let center = MessageCenter()
    let token = center.observe(Rang.self) { _ in
      for _ in 0..<50 { center.post(Answered(), about: Bell()) }
    }
    let trace = Trace(of: center, last: 6, callers: false)
    center.post(Rang())
    center.post(Answered(), about: Bell())
    let file = try File(trace)
    let answers = file.slices("post Answered")
    let call = try #require(file.slices("TraceFileTests").first)
    try #require(answers.count == 2)
    #expect(call.contains(answers[0]))
    #expect(call.end <= answers[1].ts + 0.001)
    withExtendedLifetime(token) {}
  }

  @Test("Only threads of the kept events are named")
  func threadNames() throws {
    let center = MessageCenter()
    let trace = Trace(of: center, last: 2, callers: false)
    onThreads(2) { _ in center.post(Rang()) }
    center.post(Rang())
    let file = try File(trace)
    let names = file.traceEvents.filter { $0.ph == "M" && $0.name == "thread_name" }
    #expect(names.map(\.tid) == file.slices("post Rang").map(\.tid))
  }

  @Test("Calls in tasks that overlap have tracks of their own, also when an earlier call has ended")
  func overlappingCalls() async throws {
    let center = MessageCenter()
    let gate = AsyncGate()
    let tokens = (0..<2).map { index in
      center.messages(of: Rang.self).observeAsync { message in
        if index == 0 && message.number == 2 { await gate.pass() }
      }
    }
    let trace = Trace(of: center, callers: false)
    try await center.postAndWait(Rang(number: 1))
    let second = Task { try await center.postAndWait(Rang(number: 2)) }
    try await gate.reached(within: patience)
    let third = Task { try await center.postAndWait(Rang(number: 3)) }
    _ = try await answer { trace.posts.last?.calls.last?.took }
    gate.open()
    try await second.value
    try await third.value
    let file = try File(trace)
    let calls = file.slices("TraceFileTests")
    #expect(calls.count == 6)
    for (index, one) in calls.enumerated() {
      for other in calls[(index + 1)...] where one.tid == other.tid {
        #expect(one.end <= other.ts + 0.001 || other.end <= one.ts + 0.001)
      }
    }
    withExtendedLifetime(tokens) {}
  }

  @Test("An arrow goes from a post to each of its calls elsewhere, also to those in tasks")
  func arrows() async throws {
    let (center, queue) = (MessageCenter(), TestQueue())
    let tokens = [
      center.observe(Rang.self, on: queue.delivery) { _ in },
      center.messages(of: Rang.self).observeAsync { _ in await Task.yield() },
      center.observe(Rang.self) { _ in },
    ]
    let trace = Trace(of: center, callers: false)
    try await center.postAndWait(Rang())
    let file = try File(trace)
    let post = try #require(file.slices("post Rang").first)
    let starts = file.traceEvents.filter { $0.ph == "s" }
    let ends = file.traceEvents.filter { $0.ph == "f" }
    #expect(starts.count == 2)
    #expect(Set(starts.map(\.id)) == Set(ends.map(\.id)))
    for start in starts { #expect(post.contains(start)) }
    for end in ends {
      #expect(end.bp == "e")
      #expect(file.slices("TraceFileTests").contains { $0.contains(end) })
    }
    let task = try #require(
      file.traceEvents.first {
        $0.ph == "M" && $0.args?["name"].map { "\($0)".contains("in tasks") } == true
      })
    #expect(file.slices("TraceFileTests").contains { $0.tid == task.tid })
    // Perfetto keeps 32 bits of a number.
    #expect(file.traceEvents.allSatisfy { $0.tid <= UInt32.max })
    withExtendedLifetime(tokens) {}
  }

  @Test("A counter shows what waits, and is at 0 when all was delivered or has ended")
  func counters() throws {
    let (center, target) = (MessageCenter(), ManualTarget())
    let token = center.observe(Rang.self, on: .target(target)) { _ in }
    let ended = center.observe(Rang.self, on: .target(target, buffering: .newest(2))) { _ in }
    let trace = Trace(of: center, callers: false)
    for _ in 0..<3 { center.post(Rang()) }
    ended.cancel()
    target.runAll()
    let file = try File(trace)
    let counters = file.traceEvents.filter { $0.ph == "C" }
    let counts = counters.map { $0.args?["deliveries"] }
    #expect(counts.contains(.number(5)))
    #expect(counts.last == .number(0))
    #expect(file.traceEvents.contains { $0.ph == "i" && $0.name.hasPrefix("dropped") })
    #expect(file.traceEvents.contains { $0.ph == "i" && $0.name.hasPrefix("ended") })
    withExtendedLifetime(token) {}
  }

  @Test("A counter is not lowered by deliveries that were not queued")
  func countersOfPaused() throws {
    let (center, target) = (MessageCenter(), ManualTarget())
    let token = center.observe(Rang.self, on: .target(target, buffering: .newest(8))) { _ in }
    let trace = Trace(of: center, callers: false)
    for _ in 0..<2 { center.post(Rang()) }
    token.pause()
    for _ in 0..<2 { center.post(Rang()) }
    let file = try File(trace)
    let counters = file.traceEvents.filter { $0.ph == "C" }
    #expect(counters.map { $0.args?["deliveries"] } == [.number(1), .number(2)])
    #expect(file.traceEvents.count { $0.name.hasPrefix("skipped") } == 2)
    withExtendedLifetime(token) {}
  }

  @Test("A counter is at 0 when a change has brought what a resumed follower asks for")
  func countersOfRequest() throws {
    let (state, place) = (CurrentValue(0), ManualDelivery())
    let token = state.observe(on: place.delivery.buffered(.newest(8))) { _ in }
    let trace = Trace(of: state, callers: false)
    for value in 1...2 { state.value = value }
    token.pause()
    #expect(place.runNext())
    token.resume()
    place.runAll()
    let counters = try File(trace).traceEvents.filter { $0.ph == "C" }
    #expect(counters.map { $0.args?["deliveries"] }.suffix(2) == [.number(1), .number(0)])
    withExtendedLifetime(token) {}
  }

  @Test("Where a trace was stopped, what was open ends, also if it goes on later")
  func stopped() throws {
    let (center, target) = (MessageCenter(), ManualTarget())
    let trace = Trace(of: center, callers: false)
    let tokens = [
      center.observe(Rang.self, on: .target(target)) { _ in },
      center.observe(Rang.self) { _ in trace.stop() },
    ]
    center.post(Rang())
    trace.add(center)
    center.post(Answered(), about: Bell())
    let file = try File(trace)
    let open = file.traceEvents.filter { $0.args?["unfinished"] != nil }
    let later = try #require(file.slices("post Answered").first)
    #expect(open.map(\.ph) == ["X", "X"])
    #expect(open.allSatisfy { $0.end <= later.ts + 0.001 })
    let counters = file.traceEvents.filter { $0.ph == "C" }
    #expect(counters.map { $0.args?["deliveries"] } == [.number(1), .number(0)])
    withExtendedLifetime(tokens) {}
  }

  @Test("What was open where a trace was stopped is drawn once, although it returns later")
  func returnedAfterStop() throws {
    let center = MessageCenter()
    let trace = Trace(of: center, callers: false)
    let token = center.observe(Rang.self) { _ in
      trace.stop()
      trace.add(center)
    }
    center.post(Rang())
    let slices = try File(trace).traceEvents.filter { $0.ph == "X" }
    #expect(slices.count == 2)
    #expect(slices.allSatisfy { $0.args?["unfinished"] != nil })
    withExtendedLifetime(token) {}
  }

  @Test("A call that outlives its source ends with it, and what comes later is not inside it")
  func releasedInside() throws {
    let (target, later) = (ManualTarget(), MessageCenter())
    let trace = Trace(of: later, callers: false)
    let last = Locked<MessageCenter?>(nil)
    let token: ObservationToken
    do {
      let center = MessageCenter()
      last.withLock { $0 = center }
      trace.add(center)
      token = center.observe(Rang.self, on: .target(target)) { _ in
        let center = last.withLock { $0.take() }
        withExtendedLifetime(center) {}
      }
      center.post(Rang())
    }
    target.runAll()
    later.post(Answered(), about: Bell())
    let file = try File(trace)
    let call = try #require(file.slices("TraceFileTests").first)
    let post = try #require(file.slices("post Answered").first)
    #expect(call.args?["unfinished"] != nil)
    #expect(call.end <= post.ts)
    withExtendedLifetime(token) {}
  }

  @Test("A file can be written from inside an observer, whose call has not returned")
  func unfinished() throws {
    let center = MessageCenter()
    let trace = Trace(of: center, callers: false)
    let path = FileManager.default.temporaryDirectory
      .appending(path: "campanile-\(UInt64.random(in: 0 ... .max)).json")
    defer { try? FileManager.default.removeItem(at: path) }
    let token = center.observe(Rang.self) { _ in try trace.write(to: path.path) }
    center.post(Rang())
    let file = try JSONDecoder().decode(File.self, from: Data(contentsOf: path))
    let open = file.traceEvents.filter { $0.args?["unfinished"] != nil }
    #expect(open.map(\.ph) == ["X", "X"])
    #expect(throws: (any Error).self) { try trace.write(to: "/nowhere/trace.json") }
    withExtendedLifetime(token) {}
  }

  @Test("A file that cannot be replaced stays as it was")
  func fullDisk() async {
    await #expect(processExitsWith: .success) {
      let path = FileManager.default.temporaryDirectory
        .appending(path: "campanile-\(UInt64.random(in: 0 ... .max)).json")
      defer { try? FileManager.default.removeItem(at: path) }
      try Data("before".utf8).write(to: path)
      // Beyond this size, writing fails as on a full disk.
      signal(SIGXFSZ, SIG_IGN)
      var sizes = rlimit()
      #expect(unsafe getrlimit(fileSize, &sizes) == 0)
      sizes.rlim_cur = 16
      #expect(unsafe setrlimit(fileSize, &sizes) == 0)
      #expect(throws: (any Error).self) { try Trace(callers: false).write(to: path.path) }
      sizes.rlim_cur = sizes.rlim_max
      #expect(unsafe setrlimit(fileSize, &sizes) == 0)
      #expect(try Data(contentsOf: path) == Data("before".utf8))
    }
  }

  @Test("A link is written through, and stays a link")
  func link() throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "campanile-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: directory) }
    let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let trace = Trace(callers: false)
    for _ in 0..<2 {
      try trace.write(to: link.path)
      #expect(try String(contentsOf: file, encoding: .utf8).contains("traceEvents"))
      try Data().write(to: file)
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
  }

  @Test("A value of any text makes no other file than a valid one")
  func escaping() throws {
    let texts = Broadcaster<String>()
    let trace = Trace(of: texts, values: true, callers: false)
    let nasty = "\"}],\u{0} \\ \n </script> \u{2028} é 🔔"
    texts.send(nasty)
    let file = try File(trace)
    #expect(file.slices("post String").first?.args?["value"] == .text(nasty))
  }
}

#if canImport(Glibc)
  private let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
#else
  private let fileSize = RLIMIT_FSIZE
#endif
