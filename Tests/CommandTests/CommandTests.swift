import Campanile
import CampanileRelay
import Foundation
import RelayTestSupport
import TestSupport
import Testing

@Suite("The other commands", .ownThread, .timeLimit(.long))
struct CommandTests {
  private let bus = TestBus()

  @Test("A request that nobody answers ends with 1")
  func nobodyAnswers() async throws {
    let result = try await bus.start("request", "who", "{}", "--within", "30").result()
    #expect(result == (1, [], ["campanile: Nobody on the bus answers such requests."]))
  }

  @Test("A request writes the answer, or why there is none")
  func request() async throws {
    let relay = Relay(bus.transport)
    let tokens = [
      relay.answer(raw: "double") { _, bytes in
        guard let number = Int(String(decoding: bytes, as: UTF8.self)) else {
          throw CocoaError(.coderInvalidValue)
        }
        return Array("\(number * 2)".utf8)
      },
      relay.answer(raw: "family") { _, _ in
        Array("{\t\"a\": \"\u{1F469}\u{200D}\u{1F467}\u{E0001}\"}".utf8)
      },
      relay.answer(raw: "never") { _, _ in
        // Until the relay goes.
        try await Task.sleep(for: .seconds(1_000))
        return []
      },
    ]
    try await relay.flush()
    #expect(
      try await bus.start("request", "double", "--within", "30", "--", "-21").result() == (
        0, ["-42"], []
      ))
    // What is JSON stays JSON, and what is not printable is escaped as JSON escapes it.
    let family = try await bus.start("request", "family", "{}", "--within", "30").result()
    #expect(family.output == [#"{ "a": "\#u{1F469}\u200d\#u{1F467}\udb40\udc01"}"#])
    let failed = try await bus.start("request", "double", "{}", "--within", "30").result()
    #expect(failed.status == 1 && failed.output.isEmpty && failed.notes.count == 1)
    let late = try await bus.start("request", "never", "{}", "--within", "0.1").result()
    #expect(late.status == 1 && late.output.isEmpty)
    #expect(late.notes.first?.contains("No answer came") == true)
    withExtendedLifetime((relay, tokens)) {}
  }

  @Test("A signal ends a request that waits")
  func signal() async throws {
    let relay = Relay(bus.transport)
    let (asked, source) = AsyncStream<Void>.makeStream()
    let token = relay.answer(raw: "never") { _, _ in
      source.yield()
      try await Task.sleep(for: .seconds(1_000))
      return []
    }
    try await relay.flush()
    let process = try bus.start("request", "never", "{}", "--within", "1000")
    // A process that ends early asks nothing.
    Task {
      _ = await process.status()
      source.finish()
    }
    for await _ in asked { break }
    process.signal(SIGTERM)
    #expect(await process.result() == (128 + SIGTERM, [], []))
    withExtendedLifetime((relay, token)) {}
  }

  @Test("peers writes who else is on the bus, and which one passes messages on")
  func peers() async throws {
    let alone = try await bus.start("peers").result()
    #expect(alone == (1, [], ["campanile: Nobody else is on the bus 'test'."]))
    let hub = try bus.start("hub")
    #expect(await hub.line() == "This process passes messages on.")
    let listener = try bus.start("listen", ">")
    await listener.waitUntilListening()
    let (status, lines, notes) = try await bus.start("peers").result()
    hub.signal(SIGTERM)
    #expect(await hub.status() == 128 + SIGTERM)
    #expect(status == 0 && notes.isEmpty)
    try #require(lines.count == 2)
    #expect(
      lines[0].hasPrefix("campanile hub (process \(hub.processID)) ")
        && lines[0].hasSuffix(" hub"))
    #expect(
      lines[1].hasPrefix("campanile listen (process \(listener.processID)) ")
        && !lines[1].hasSuffix(" hub"))
  }

  @Test("hub takes over from the process that passed the messages on")
  func hub() async throws {
    let relay = Relay(bus.transport, name: "first")
    try await relay.flush()
    let hubs = Recorder<String>(timeout: .seconds(30))
    let token = relay.peers.observe { peers in
      for peer in peers where peer.isHub { hubs.record(peer.name) }
    }
    let hub = try bus.start("hub")
    while let line = await hub.line(), line != "This process passes messages on." {}
    #expect(try await hubs.next() == "campanile hub")
    withExtendedLifetime((relay, token)) {}
  }

  @Test("A message that cannot be sent ends post with 1")
  func refusedPost() async throws {
    let subject = String(repeating: "a", count: 70_000)
    let (status, output, notes) = try await bus.start("post", subject, "1").result()
    #expect(status == 1 && output.isEmpty)
    #expect(notes.count == 1 && notes.first?.hasPrefix("campanile: refused aaa") == true)
  }

  @Test("A signal ends bench while it posts")
  func signalToBench() async throws {
    let relay = Relay(bus.transport)
    let (news, source) = AsyncStream<Void>.makeStream()
    let token = relay.raw("campanile.bench.*.message").observe { _ in source.yield() }
    try await relay.flush()
    let process = try bus.start("bench", "--count", "1000000000")
    // A process that ends early posts nothing.
    Task {
      _ = await process.status()
      source.finish()
    }
    for await _ in news { break }
    process.signal(SIGINT)
    #expect(await process.status() == 128 + SIGINT)
    withExtendedLifetime((relay, token)) {}
  }

  @Test("Without a bus it ends with 3")
  func noBus() async throws {
    // A folder that others can reach into is refused.
    try FileManager.default.createDirectory(
      atPath: bus.folder, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o755])
    let (status, output, notes) = try await bus.start("peers").result()
    #expect(status == 3 && output.isEmpty)
    #expect(notes.last == "campanile: There is no bus 'test' to be had.")
  }

  @Test("bench hears each message in another process")
  func bench() async throws {
    let (status, lines, notes) = try await bus.start("bench", "--count", "500", "--bytes", "40")
      .result()
    #expect(status == 0 && notes.isEmpty)
    #expect(lines.first?.hasPrefix("Two processes, 40 bytes a message") == true)
    #expect(lines.count == 3 && lines[1].hasSuffix(" a second, 500 posted, 500 heard"))
  }

  @Test("bench makes the folder of its own bus where TMPDIR says")
  func benchInFolder() async throws {
    let folder = "/tmp/k\(UInt32.random(in: 0 ... .max))/none"
    let result = try await CommandProcess(
      ["bench", "--count", "10"], environment: ["TMPDIR": folder]
    ).result()
    #expect(result.status == 3)
    #expect(result.notes.first?.contains("The folder \(folder)/campanile-bench-") == true)
  }

  @Test("bench measures on the bus that is named, in the user's folder")
  func benchOfName() async throws {
    try FileManager.default.createDirectory(
      atPath: bus.folder, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let environment = ["XDG_RUNTIME_DIR": bus.folder]
    let start = { (arguments: String...) in
      try CommandProcess(["--bus", "named"] + arguments, environment: environment)
    }
    let hub = try start("hub")
    #expect(await hub.line() == "This process passes messages on.")
    let listener = try start("listen", "campanile.bench.*.message", "--count", "1")
    await listener.waitUntilListening()
    #expect(try await start("bench", "--count", "500").result().status == 0)
    // Not the first line, unless the measurement was made elsewhere.
    #expect(try await start("post", "campanile.bench.0.message", "1").result().status == 0)
    #expect(try #require(await listener.line()).hasPrefix("campanile bench "))
  }
}

/// What needs no bus.
@Suite("The command line of campanile", .ownThread, .timeLimit(.long))
struct CommandLineTests {
  @Test(
    "A mistake is one sentence, and ends with 2",
    arguments: [
      ("", "A command is missing; see campanile help."),
      ("lsten a", "There is no command 'lsten'; see campanile help."),
      ("listen", "PATTERN is missing: campanile listen PATTERN."),
      ("post a", "JSON is missing: campanile post SUBJECT JSON."),
      ("peers a", "'a' is one too many: campanile peers."),
      (
        "listen a..b",
        "'a..b' is no pattern: it takes tokens with dots between them, * for any token, "
          + "and > at the end for one or more."
      ),
      (
        "listen player.tr*",
        "'player.tr*' is no pattern: it takes tokens with dots between them, * for any token, "
          + "and > at the end for one or more."
      ),
      (
        "post a.> 1",
        "'a.>' is no subject: it takes tokens with dots between them, without spaces, * and >."
      ),
      ("post a text", "'text' is no JSON; a text needs quotes: '\"text\"'."),
      ("listen a --count 0", "--count needs a whole number from 1 on, not '0'."),
      ("listen a --count", "--count needs a value."),
      ("listen a --json=1", "--json takes no value."),
      ("listen a --bus=", "--bus needs a value that is not empty."),
      ("listen a --count=", "--count needs a whole number from 1 on, not ''."),
      ("post a 1 --json", "post takes no --json; see campanile help."),
      ("post a 1 --group g", "post takes no --group; see campanile help."),
      ("request a 1 --within x", "--within needs a positive number of seconds, not 'x'."),
      (
        "listen a --cuont 1",
        "There is no option --cuont; see campanile help. What begins with a - and is no option "
          + "comes after --."
      ),
      ("bench --bytes 65537", "--bytes takes 65536 at the most, not 65537."),
      ("completion tcsh", "completion is for bash, zsh and fish, not for 'tcsh'."),
    ])
  func mistakes(line: String, sentence: String) async throws {
    let result = try await CommandProcess(line.split(separator: " ").map(String.init)).result()
    #expect(result == (2, [], ["campanile: " + sentence]))
  }

  @Test(
    "help and --help tell of every command", arguments: ["help", "--help", "-h", "post --help"])
  func help(line: String) async throws {
    let result = try await CommandProcess(line.split(separator: " ").map(String.init)).result()
    #expect(result.status == 0 && result.notes.isEmpty)
    for name in ["listen PATTERN", "post SUBJECT JSON", "request", "peers", "hub", "bench"] {
      #expect(result.output.contains { $0.hasPrefix("  \(name) ") })
    }
    #expect(result.output.allSatisfy { $0.count <= 100 })
  }

  @Test(
    "Output that cannot be written ends it with 1",
    arguments: ["</dev/null 1<&0", ">/dev/full"].filter { $0 != ">/dev/full" || isLinux })
  func unwritable(output: String) async throws {
    let process = try CommandProcess(["--version"], shell: #"exec "$0" "$@" "# + output)
    let (status, lines, notes) = await process.result()
    #expect(status == 1 && lines.isEmpty && notes.count == 1)
    #expect(notes.first?.hasPrefix("campanile: The output cannot be written: ") == true)
  }

  private static var isLinux: Bool {
    #if os(Linux)
      true
    #else
      false
    #endif
  }

  @Test("--version writes a line")
  func version() async throws {
    let result = try await CommandProcess(["--version"]).result()
    #expect(result.status == 0 && result.output.count == 1 && result.notes.isEmpty)
  }

  @Test("bash takes what completion writes, and completes with it")
  func bash() async throws {
    #expect(try await run("bash -n", script(for: "bash")).isEmpty)
    let ask = """
      \n
      complete_words() {
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _campanile
        echo "${COMPREPLY[*]}"
      }
      complete_words campanile p
      complete_words campanile listen --j
      complete_words campanile post --
      complete_words campanile completion f
      """
    let answers = try await run("bash", script(for: "bash") + ask)
    #expect(
      answers == [
        "post peers", "--json",
        "--bus --folder --nats --user --password --nkey --creds --ca --help", "fish",
      ])
  }

  @Test("zsh takes what completion writes", .enabled(if: has("zsh")))
  func zsh() async throws {
    #expect(try await run("zsh -n", script(for: "zsh")).isEmpty)
  }

  @Test("fish takes what completion writes", .enabled(if: has("fish")))
  func fish() async throws {
    #expect(try await run("fish -n", script(for: "fish")).isEmpty)
  }

  private static func has(_ shell: String) -> Bool {
    ["/bin/", "/usr/bin/", "/usr/local/bin/"].contains {
      FileManager.default.isExecutableFile(atPath: $0 + shell)
    }
  }

  private func script(for shell: String) async throws -> String {
    let result = try await CommandProcess(["completion", shell]).result()
    #expect(result.status == 0 && result.notes.isEmpty && !result.output.isEmpty)
    return result.output.joined(separator: "\n")
  }

  /// Gives a shell a script, and returns the lines that it writes.
  private func run(_ shell: String, _ script: String) async throws -> [String] {
    let file = "/tmp/k\(UInt32.random(in: 0 ... .max)).script"
    try Data(script.utf8).write(to: URL(filePath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    let process = try CommandProcess([file], shell: "exec \(shell) \"$1\" 2>&1")
    let result = await process.result()
    #expect(result.status == 0)
    return result.output
  }
}
