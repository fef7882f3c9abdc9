import CampanileRelay
import Foundation
import RelayTestSupport
import TestSupport
import Testing

@Suite("campanile listen", .ownThread, .timeLimit(.long))
struct ListenTests {
  private let bus = TestBus()

  private struct Line: Decodable {
    struct Sender: Decodable {
      var name: String
      var process: Int32
      var id: String
    }

    var subject: String
    var from: Sender
    var version: Int
    var message: Level
  }

  private struct Level: Decodable, Equatable {
    var peak: Double
    var title: String
  }

  @Test("What one process posts, another one that listens writes")
  func listenAndPost() async throws {
    let listener = try bus.start("listen", "player.>", "--count", "2")
    await listener.waitUntilListening()
    for (subject, json) in [
      ("player.level", "{\"peak\":1}"), ("bell.ring", "1"), ("player.a.b", "[1,\n2]"),
    ] {
      #expect(try await bus.start("post", subject, json).result() == (0, [], []))
    }
    let first = try #require(await listener.line())
    #expect(first.hasPrefix("campanile post (process "))
    #expect(first.hasSuffix(") player.level {\"peak\":1}"))
    #expect(try #require(await listener.line()).hasSuffix(" player.a.b [1, 2]"))
    // Two lines were asked for.
    #expect(await listener.result() == (0, [], []))
  }

  @Test("With --json a line is one object, with the JSON as it came")
  func jsonLines() async throws {
    let listener = try bus.start("listen", ">", "--json", "--count", "1")
    await listener.waitUntilListening()
    let relay = Relay(bus.transport, name: "a \"screen\"\n")
    let json = "{ \"title\" : \"A\\n/\u{1F514}\",\n \"peak\" : 0.50 }"
    relay.post(raw: Array(json.utf8), to: "player.level", version: 3)
    let text = try #require(await listener.line())
    // Nothing of the message is written anew.
    #expect(text.hasSuffix("\"message\":" + json.replacing("\n", with: " ") + "}"))
    let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
    #expect(line.subject == "player.level")
    #expect(line.version == 3)
    #expect(line.message == Level(peak: 0.5, title: "A\n/\u{1F514}"))
    #expect(line.from.name == "a \"screen\"\n")
    #expect(line.from.process == getpid())
    #expect(UInt64(line.from.id, radix: 16) != nil)
    #expect(await listener.result() == (0, [], []))
    withExtendedLifetime(relay) {}
  }

  @Test("What is no JSON is written in base64")
  func bytes() async throws {
    let texts = ["{\"a\":", "\u{FEFF}1", "[\",\", 1 ,\n]", "{\"a\":1,}"]
    let payloads = [[0xFF, 0], []] + texts.map { Array($0.utf8) }
    let listener = try bus.start("listen", ">", "--json", "--count", "\(payloads.count)")
    await listener.waitUntilListening()
    let relay = Relay(bus.transport)
    for bytes in payloads { relay.post(raw: bytes, to: "bytes") }
    for bytes in payloads {
      let text = try #require(await listener.line())
      let base64 = Data(bytes).base64EncodedString()
      #expect(text.hasSuffix("\"message\":\"\(base64)\",\"encoding\":\"base64\"}"))
    }
    withExtendedLifetime(relay) {}
  }

  @Test("A text with a comma before a bracket is JSON")
  func commaInText() async throws {
    let json = "[\",]\\\",}\",{}]"
    let listener = try bus.start("listen", ">", "--json", "--count", "1")
    await listener.waitUntilListening()
    #expect(try await bus.start("post", "text", json).result() == (0, [], []))
    #expect(try #require(await listener.line()).hasSuffix("\"message\":" + json + "}"))
  }

  @Test("What would move the cursor of a terminal is escaped for people")
  func controls() async throws {
    let listener = try bus.start("listen", ">", "--count", "2")
    await listener.waitUntilListening()
    let relay = Relay(bus.transport, name: "\u{1B}[2J")
    relay.post(raw: Array("one\u{1B}[2J\ntwo".utf8), to: "text")
    relay.post(raw: [0xFF], to: "bytes")
    let start = "\\u{1b}[2J (process \(getpid())) "
    #expect(await listener.line() == start + "text one\\u{1b}[2J\\u{a}two")
    #expect(await listener.line() == start + "bytes base64:/w==")
    withExtendedLifetime(relay) {}
  }

  @Test("Of those who name the same group, one writes each message")
  func group() async throws {
    let listeners = try (1...2).map { _ in
      try bus.start("listen", "job.>", "--group", "workers", "--count", "2")
    }
    for listener in listeners { await listener.waitUntilListening() }
    let relay = Relay(bus.transport)
    for number in 1...4 { relay.post(raw: Array("\(number)".utf8), to: "job.\(number)") }
    var numbers: [String] = []
    for listener in listeners {
      let result = await listener.result()
      #expect(result.status == 0 && result.output.count == 2)
      numbers += result.output.compactMap { $0.last.map(String.init) }
    }
    #expect(numbers.sorted() == ["1", "2", "3", "4"])
    withExtendedLifetime(relay) {}
  }

  @Test("A signal ends it with 128 and its number", arguments: [SIGINT, SIGTERM, SIGHUP])
  func signals(number: Int32) async throws {
    let listener = try bus.start("listen", ">")
    await listener.waitUntilListening()
    listener.signal(number)
    #expect(await listener.result() == (128 + number, [], []))
  }

  @Test("A closed pipe ends it quietly")
  func closedPipe() async throws {
    let listener = try bus.start("listen", ">")
    await listener.waitUntilListening()
    try listener.closeOutput()
    let relay = Relay(bus.transport)
    // A process that starts just now may have the pipe open for a moment.
    while listener.isRunning {
      relay.post(raw: [], to: "a")
      try await relay.flush()
    }
    #expect(await listener.status() == 0)
    #expect(await listener.note() == nil)
  }

  @Test("An output that was closed before the command began is no connection of it")
  func closedOutput() async throws {
    let listener = try bus.start("listen", ">", shell: #"exec "$0" "$@" >&-"#)
    await listener.waitUntilListening()
    #expect(try await bus.start("post", "a", "1").result().status == 0)
    let result = await listener.result()
    #expect(result.status == 1)
    #expect(result.notes == ["campanile: The output cannot be written: Bad file descriptor."])
  }

  @Test(
    "What is longer than a pipe is written, whether the pipe blocks or not",
    arguments: [true, false])
  func longLines(blocks: Bool) async throws {
    let listener = try bus.start("listen", ">", "--count", "8", blocks: blocks)
    await listener.waitUntilListening()
    let relay = Relay(bus.transport)
    let texts = (1...8).map { String(repeating: "\($0)", count: 60_000) }
    for text in texts { relay.post(raw: Array(text.utf8), to: "a") }
    try await relay.flush()
    for text in texts { #expect(await listener.line()?.hasSuffix(" a " + text) == true) }
    #expect(await listener.result() == (0, [], []))
  }

  @Test("A signal also ends it while nobody reads what it writes")
  func signalWhileBlocked() async throws {
    let listener = try bus.start("listen", ">")
    await listener.waitUntilListening()
    let relay = Relay(bus.transport)
    for _ in 1...8 { relay.post(raw: [UInt8](repeating: 0x61, count: 60_000), to: "a") }
    // Seven more than fit the pipe, so it waits in one of them.
    _ = await listener.line()
    listener.signal(SIGTERM)
    #expect(await listener.status() == 128 + SIGTERM)
    withExtendedLifetime(relay) {}
  }

  @Test("A signal ends a request whose answer nobody reads")
  func signalWhileAnswerIsBlocked() async throws {
    let relay = Relay(bus.transport)
    let token = relay.answer(raw: "big") { _, _ in [UInt8](repeating: 0x61, count: 500_000) }
    try await relay.flush()
    let asker = try bus.start("request", "big", "{}", "--within", "600")
    await asker.waitUntilWriting()
    asker.signal(SIGTERM)
    #expect(await asker.status() == 128 + SIGTERM)
    withExtendedLifetime((relay, token)) {}
  }

  @Test("A signal that whoever started it ignores does not end it")
  func ignoredSignal() async throws {
    let listener = try bus.start(
      "listen", ">", "--count", "1", shell: #"trap "" HUP; exec "$0" "$@""#)
    await listener.waitUntilListening()
    listener.signal(SIGHUP)
    #expect(try await bus.start("post", "a", "1").result().status == 0)
    #expect(await listener.result().status == 0)
  }

  @Test("The player is heard on the bus of its --relay")
  func player() async throws {
    let home = ["XDG_RUNTIME_DIR": bus.folder]
    try FileManager.default.createDirectory(
      atPath: bus.folder, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let listener = try CommandProcess(
      ["listen", "player.>", "--bus", "p", "--count", "4"], environment: home)
    await listener.waitUntilListening()
    let player = try await playing(home)
    let start = "player (process \(player)) player."
    #expect(await listener.line() == start + "state {\"state\":\"ready\"}")
    #expect(try #require(await listener.line()).hasPrefix(start + "track {"))
    #expect(await listener.line() == start + "state {\"state\":\"playing\"}")
    let level = try #require(await listener.line())
    #expect(level.hasPrefix(start + "level.\(player) {\"peak\":"))
    #expect(await listener.status() == 0)
  }

  /// Plays until a player has had the bus, and returns the number of its process.
  private func playing(_ home: [String: String]) async throws -> Int32 {
    while true {
      let player = try CommandProcess(
        ["--speed", "100", "--relay=p"], program: "player", environment: home)
      let (status, output, notes) = await player.result()
      try #require(status == 0 && notes.isEmpty)
      // It waits for two seconds, and nobody hears it without a bus.
      if !output.contains(where: { $0.contains("There is no bus") }) { return player.processID }
    }
  }

  @Test("It goes on when the process that passed the messages on has died")
  func hubDies() async throws {
    let hub = try bus.start("hub")
    #expect(await hub.line() == "This process passes messages on.")
    let listener = try bus.start("listen", ">", "--count", "1")
    await listener.waitUntilListening()
    hub.signal(SIGKILL)
    #expect(await hub.status() == -1)
    // A post may arrive before the listener has found the next hub.
    while listener.isRunning {
      #expect(try await bus.start("post", "a", "1").status() == 0)
    }
    #expect(try #require(await listener.line()).hasSuffix(" a 1"))
    #expect(await listener.status() == 0)
  }
}
