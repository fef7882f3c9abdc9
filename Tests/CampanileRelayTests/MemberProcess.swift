import CampanileRelay
import Foundation
import TestSupport
import Testing

/// A process has not answered.
private struct Silence: Error {
  let name: String
  /// What it was told last.
  let line: String
}

/// A process on a bus, told what to do by lines.
final class MemberProcess {
  let name: String
  private let process = Process()
  private let end: ProgramEnd
  private let (input, output): (Pipe, Pipe)
  private var rest = Data()
  private var lastLine = ""

  /// The program that is a member.
  static let program = URL(filePath: CommandLine.arguments[0])
    .deletingLastPathComponent().appending(path: "member")

  convenience init(
    _ folder: URL, _ name: String, silence: SilenceLimits = .patient, _ arguments: String...
  ) throws {
    try self.init(Self.command(folder, name, silence: silence) + arguments, name)
  }

  /// What starts a member on the bus `test` in a folder.
  static func command(
    _ folder: URL, _ name: String, silence: SilenceLimits = .patient
  ) -> [String] {
    [program.path, folder.path, "test", name, "\(silence.ofHub)", "\(silence.ofMembers)"]
  }

  /// - Parameter command: The program, after what starts it, and before its arguments.
  init(_ command: [String], _ name: String) throws {
    self.name = name
    end = ProgramEnd(of: process)
    process.executableURL = URL(filePath: command[0])
    process.arguments = Array(command.dropFirst())
    (input, output) = try startingAlone { [process] in
      let (input, output) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      return (input, output)
    }
  }

  deinit { kill() }

  func say(_ line: String) throws {
    lastLine = line
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  /// The next line; blocks the thread until it is there.
  ///
  /// It fails if no line comes in time.
  func hear() throws -> String {
    let deadline = ContinuousClock.now + lostAfter
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = rest[(end + 1)...] }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let file = output.fileHandleForReading
      var waiting = pollfd(fd: file.fileDescriptor, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&waiting, 1, 1_000) <= 0 {
        try Task.checkCancellation()
        if ContinuousClock.now > deadline { throw Silence(name: name, line: lastLine) }
        continue
      }
      let data = file.availableData
      if data.isEmpty { throw CocoaError(.fileReadUnknown) }
      rest += data
    }
  }

  @discardableResult
  func ask(_ line: String) throws -> String {
    try say(line)
    return try hear()
  }

  var processID: Int32 { process.processIdentifier }

  func signal(_ number: Int32) { process.send(number) }

  /// Ends it: no code of it runs from then on.
  func kill() {
    if process.isRunning { signal(SIGKILL) }
    end.wait()
  }

  /// What it has heard of each sender.
  func report() throws -> Report { try Report(ask("report")) }

  /// What its relay has reported: how many of what, from whom and why.
  func events() throws -> [String] {
    try ask("events").split(separator: "|").dropFirst().map(String.init)
  }

  var isHub: Bool {
    get throws { try ask("peers").hasPrefix("peers \(name) ") }
  }
}

struct Report {
  struct Heard: Equatable {
    var first = 0
    var last = 0
    var gaps = 0
    var oddGaps = 0
    var disorders = 0
    var calls = 0
    var resumed = 0

    /// All numbers up to one, each once and in order.
    static func all(_ count: Int) -> Self { Self(first: 1, last: count, calls: count) }
  }

  var heard: [String: Heard] = [:]
  var numbers: [String: Int] = [:]

  init(_ line: String) throws {
    for part in line.split(separator: " ").dropFirst() {
      let pair = part.split(separator: "=").map(String.init)
      try #require(pair.count == 2, "It is no report: \(line)")
      let values = pair[1].split(separator: ",").compactMap { Int($0) }
      if values.count == 1 {
        numbers[pair[0]] = values[0]
      } else {
        heard[pair[0]] = Heard(
          first: values[0], last: values[1], gaps: values[2], oddGaps: values[3],
          disorders: values[4], calls: values[5], resumed: values[6])
      }
    }
  }
}

extension [MemberProcess] {
  /// Starts so many, each of which carries all; the first is the hub.
  static func start(
    _ count: Int, in folder: URL, silence: SilenceLimits = .patient
  ) throws -> Self {
    try (0..<count).map { index in
      let member = try MemberProcess(folder, "m\(index)", silence: silence)
      try member.carry()
      return member
    }
  }

  /// The microseconds between posts: as short as a process can keep up with, in long tests.
  private static var pace: Int {
    #if TSAN
      5_000
    #else
      Effort.times(2_000, long: 500)
    #endif
  }

  /// Begins to post; when this returns, all have heard something of each.
  func load(every microseconds: Int = Self.pace) throws {
    for member in self { try member.ask("start \(microseconds)") }
    for member in self { try member.ask("flush") }
  }

  /// Where one is that is the hub, or is not.
  ///
  /// While the hub changes, nobody says that it is.
  func place(ofHub isHub: Bool) throws -> Int {
    while true {
      if let place = try lastIndex(where: { try $0.isHub == isHub }) { return place }
      for member in self { try member.ask("flush") }
    }
  }

  /// The numbers of a sender that they have heard, each of them once, when all have been heard.
  func numbers(of sender: String, upTo last: Int) throws -> [Int] {
    let end = ContinuousClock.now + lostAfter
    while true {
      let numbers = try Set(
        flatMap { member in
          try member.ask("numbers \(sender)").split { !$0.isNumber }.compactMap { Int($0) }
        })
      if numbers.count >= last || ContinuousClock.now > end { return numbers.sorted() }
    }
  }

  /// Stops all posting, and waits until what was posted has come.
  func rest() throws -> [String: Int] {
    var posted: [String: Int] = [:]
    for member in self {
      let line = try member.ask("stop")
      let number = try #require(Int(line.trimmingPrefix("stopped ")), "\(line)") as Int
      posted[member.name] = number
    }
    // What has come has been posted there when an answer to a later line comes back.
    for _ in 0..<3 { for member in self { try member.ask("flush") } }
    return posted
  }

  /// Checks what each has heard of the others once all have been quiet.
  ///
  /// What was heard of one that is dead, all have heard. Those that were started together have
  /// heard each from its first post.
  func check(posted: [String: Int], dead: Set<String> = []) throws {
    var lastOfDead: [String: Int] = [:]
    for member in self {
      let report = try member.report()
      func heardAll(of sender: String) throws -> Report.Heard {
        let heard = try #require(report.heard[sender])
        #expect(heard.gaps == 0 && heard.disorders == 0, "\(member.name) of \(sender): \(heard)")
        if member.name.hasPrefix("m") {
          #expect(heard.first == 1, "\(member.name) of \(sender): \(heard)")
        }
        return heard
      }
      for (sender, last) in posted where sender != member.name {
        let heard = try heardAll(of: sender)
        #expect(heard.last == last, "\(member.name) of \(sender): \(heard)")
      }
      for sender in dead {
        let heard = try heardAll(of: sender)
        #expect(
          heard.last == lastOfDead[sender] ?? heard.last, "\(member.name) of \(sender): \(heard)")
        lastOfDead[sender] = heard.last
      }
      #expect(report.numbers["lost"] == 0)
    }
  }
}

extension MemberProcess {
  /// Carries all from now on.
  func carry() throws {
    try ask("carry both")
    try ask("flush")
  }
}
