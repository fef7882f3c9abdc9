import Foundation
import Testing

/// A process on a bus, told what to do by lines.
private final class MemberProcess {
  let name: String
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var rest = Data()

  init(_ folder: URL, _ name: String, _ arguments: String...) throws {
    self.name = name
    process.executableURL = URL(filePath: CommandLine.arguments[0])
      .deletingLastPathComponent().appending(path: "member")
    process.arguments = [folder.path, "test", name] + arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit { kill() }

  func say(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  /// The next line.
  func hear() throws -> String {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = rest[(end + 1)...] }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { throw CocoaError(.fileReadUnknown) }
      rest += data
    }
  }

  @discardableResult
  func ask(_ line: String) throws -> String {
    try say(line)
    return try hear()
  }

  func signal(_ number: Int32) { Foundation.kill(process.processIdentifier, number) }

  func kill() {
    if !process.isRunning { return }
    signal(SIGKILL)
    process.waitUntilExit()
  }

  /// What it has heard of each sender.
  func report() throws -> Report { Report(try ask("report")) }

  var isHub: Bool {
    get throws { try ask("peers").split(separator: " ")[1] == name }
  }
}

private struct Report {
  struct Heard: Equatable {
    var first = 0
    var last = 0
    var gaps = 0
    var disorders = 0
  }

  var heard: [String: Heard] = [:]
  var numbers: [String: Int] = [:]

  init(_ line: String) {
    for part in line.split(separator: " ").dropFirst() {
      let pair = part.split(separator: "=").map(String.init)
      let values = pair[1].split(whereSeparator: { "-,".contains($0) }).compactMap { Int($0) }
      if values.count == 1 {
        numbers[pair[0]] = values[0]
      } else {
        heard[pair[0]] = Heard(
          first: values[0], last: values[1], gaps: values[2], disorders: values[3])
      }
    }
  }
}

/// Processes that are killed and stopped while all post.
@Suite("Relays of several processes", .serialized, .timeLimit(.minutes(30)))
struct ProcessTests {
  private func start(_ count: Int, in folder: URL) throws -> [MemberProcess] {
    let members = try (0..<count).map { try MemberProcess(folder, "m\($0)") }
    for member in members {
      try member.ask("carry both")
      try member.ask("flush")
    }
    return members
  }

  /// Checks what each has heard of the others once all have been quiet.
  private func check(_ members: [MemberProcess], posted: [String: Int], dead: Set<String> = [])
    throws
  {
    for member in members {
      let report = try member.report()
      for (sender, last) in posted where sender != member.name {
        let heard = try #require(report.heard[sender])
        #expect(heard.gaps == 0 && heard.disorders == 0, "\(member.name) of \(sender): \(heard)")
        if !dead.contains(sender) {
          #expect(heard.last == last, "\(member.name) of \(sender): \(heard)")
        }
      }
      #expect(report.numbers["lost"] == 0)
    }
  }

  /// Stops all posting, and waits until what was posted has come.
  private func rest(_ members: [MemberProcess]) throws -> [String: Int] {
    var posted: [String: Int] = [:]
    for member in members {
      posted[member.name] = Int(try member.ask("stop").split(separator: " ")[1])
    }
    for member in members { try member.ask("flush") }
    // What has come has been posted there when an answer to a later line comes back.
    for _ in 0..<2 { for member in members { try member.ask("flush") } }
    return posted
  }

  @Test("R1 R2 Several processes hear each other", arguments: [2, 5])
  func conversation(count: Int) async throws {
    try await withFolder { folder in
      let members = try start(count, in: folder)
      for member in members { try member.say("post 1000") }
      for member in members { _ = try member.hear() }
      let posted = try rest(members)
      try check(members, posted: posted)
    }
  }

  @Test("R2 In processes too, nobody hears an answer before its question")
  func causality() async throws {
    try await withFolder { folder in
      let names = ["asker", "answerer1", "answerer2", "listener1", "listener2"]
      let members = try names.map { try MemberProcess(folder, $0) }
      for member in members { try member.ask("flush") }
      try members[0].ask("ask 1000")
      _ = try rest(members)
      for member in members.dropFirst() {
        let report = try member.report()
        #expect(report.numbers["questions"] == 1_000)
        #expect(report.numbers["early"] == 0)
      }
    }
  }

  @Test("R4 The hub is killed under load: nothing is lost for the living", arguments: [2, 5])
  func hubKilled(count: Int) async throws {
    try await withFolder { folder in
      var members = try start(count, in: folder)
      for round in 0..<(count == 2 ? 4 : 6) {
        for member in members { try member.ask("start 200") }
        for member in members { try member.ask("peers") }
        let place = try #require(try members.firstIndex { try $0.isHub })
        let killed = members.remove(at: place)
        killed.kill()
        let posted = try rest(members)
        try check(members, posted: posted, dead: [killed.name])
        let new = try MemberProcess(folder, "n\(round)")
        try new.ask("carry both")
        try new.ask("flush")
        members.append(new)
      }
    }
  }

  @Test("R4 A member is killed under load: nothing is lost for the living")
  func memberKilled() async throws {
    try await withFolder { folder in
      var members = try start(5, in: folder)
      for member in members { try member.ask("start 200") }
      for _ in 0..<2 {
        let place = try #require(try members.lastIndex { try !$0.isHub })
        members.remove(at: place).kill()
      }
      try check(members, posted: try rest(members))
    }
  }

  @Test("R4 The hub is stopped for two seconds: the others go on, and it misses nothing")
  func hubStopped() async throws {
    try await withFolder { folder in
      let members = try start(5, in: folder)
      for member in members { try member.ask("start 1000") }
      let stopped = try #require(try members.first { try $0.isHub })
      stopped.signal(SIGSTOP)
      let others = members.filter { $0 !== stopped }
      // Each flush waits for a hub that works.
      for member in others { try member.ask("flush") }
      #expect(try others.contains { try $0.isHub })
      stopped.signal(SIGCONT)
      try stopped.ask("flush")
      try check(members, posted: try rest(members))
    }
  }

  @Test(
    "R6 R7 What a stopped process misses beyond the buffer is counted",
    arguments: ["newest", "oldest"])
  func slow(policy: String) async throws {
    try await withFolder { folder in
      let sender = try MemberProcess(folder, "sender")
      try sender.ask("carry both")
      try sender.ask("flush")
      let receiver = try MemberProcess(folder, "receiver", policy, "100000")
      try receiver.ask("carry both")
      try receiver.ask("flush")
      try sender.ask("post 10 100")
      try receiver.ask("flush")
      receiver.signal(SIGSTOP)
      try sender.ask("post 40000 200")
      try sender.ask("flush")
      receiver.signal(SIGCONT)
      _ = try rest([sender, receiver])
      try sender.ask("post 1")
      _ = try rest([sender, receiver])
      let report = try receiver.report()
      let heard = try #require(report.heard["sender"])
      #expect(heard.disorders == 0)
      #expect(heard.last == 40_011)
      #expect(heard.gaps > 0)
      #expect(report.numbers["lost"] == heard.gaps)
    }
  }
}
