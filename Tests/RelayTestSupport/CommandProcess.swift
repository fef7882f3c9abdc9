package import CampanileRelay
import Foundation
import Synchronization
import TestSupport
import Testing

/// The command `campanile`, or another program, while it runs.
///
/// To wait for it takes a thread besides those of tasks: what answers it may be a task of the test.
package final class CommandProcess: Sendable {
  private let process = Process()
  private let end: ProgramEnd
  private let output: Lines
  private let errors: Lines
  private let name: String

  /// - Parameters:
  ///   - program: A program of this package.
  ///   - shell: A line for a shell that starts the program, as `"$0" "$@"`.
  ///   - environment: What is added to that of the tests.
  ///   - blocks: Whether the program waits when the pipe of its output is full.
  package init(
    _ arguments: [String], program: String = "campanile", shell: String? = nil,
    environment: [String: String] = [:], blocks: Bool = true
  ) throws {
    end = ProgramEnd(of: process)
    name = ([program] + arguments).joined(separator: " ")
    let url = URL(filePath: CommandLine.arguments[0])
      .deletingLastPathComponent().appending(path: program)
    process.executableURL = shell == nil ? url : URL(filePath: "/bin/sh")
    process.arguments = (shell.map { ["-c", $0, url.path] } ?? []) + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    (output, errors) = try startingAlone { [process] in
      let (output, errors) = (Lines(), Lines())
      process.standardOutput = output.pipe
      process.standardError = errors.pipe
      if !blocks {
        _ = fcntl(output.pipe.fileHandleForWriting.fileDescriptor, F_SETFL, O_NONBLOCK)
      }
      try process.run()
      return (output, errors)
    }
    // Whoever waits for a program that hangs goes on, and the test fails.
    DispatchQueue.global().asyncAfter(deadline: .now() + 60) { [weak self] in
      if let self, self.isRunning { self.signal(SIGKILL) }
    }
  }

  deinit {
    if process.isRunning { signal(SIGKILL) }
    end.wait()
  }

  package var isRunning: Bool { process.isRunning }
  package var processID: Int32 { process.processIdentifier }

  /// The next line of the output; `nil` at its end.
  package func line() async -> String? { await next(of: output) }

  /// The next line of what is noted; `nil` at its end.
  package func note() async -> String? { await next(of: errors) }

  private func next(of lines: Lines) async -> String? {
    do {
      return try await onThread { Result { try lines.next(within: patience) } }.get()
    } catch {
      // The program is ended later, and the test says now what it has waited for.
      Issue.record("'\(name)' has written no line for \(patience)")
      return nil
    }
  }

  /// Waits until it listens.
  package func waitUntilListening() async {
    while let note = await note(), !note.contains("Listening to") {}
  }

  package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Waits until there is some output, and reads none of it.
  package func waitUntilWriting() async {
    await onThread { _ = self.output.hasSome(within: patience) }
  }

  /// Reads no more of the output.
  package func closeOutput() throws { try output.pipe.fileHandleForReading.close() }

  /// Waits for the end; -1 after a signal that killed it.
  package func status() async -> Int32 {
    await onThread { [process, end] in
      end.wait()
      return process.terminationReason == .exit ? process.terminationStatus : -1
    }
  }

  /// Waits for the end, and returns all that was written.
  package func result() async -> (status: Int32, output: [String], notes: [String]) {
    // Both at once: neither pipe takes all that there may be.
    async let lines = onThread { self.output.rest() }
    async let notes = onThread { self.errors.rest() }
    return (await status(), await lines, await notes)
  }

  private func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () -> Result
  ) async -> Result {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }
}

/// What comes through a pipe, by lines.
private final class Lines: Sendable {
  let pipe = Pipe()
  private let bytes = Mutex(Data())

  init() {
    // No program that another test starts has a copy, which would keep the pipe open.
    for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
  }

  /// - Throws: Nothing has come in time.
  func next(within limit: Duration? = nil) throws -> String? {
    try bytes.withLock { bytes in
      while true {
        if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
          defer { bytes = Data(bytes[(end + 1)...]) }
          return String(decoding: bytes[..<end], as: UTF8.self)
        }
        if let limit, !hasSome(within: limit) { throw CancellationError() }
        let new = pipe.fileHandleForReading.availableData
        if new.isEmpty { return nil }
        bytes += new
      }
    }
  }

  @discardableResult
  func hasSome(within limit: Duration) -> Bool {
    var waiting = pollfd(
      fd: pipe.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&waiting, 1, Int32(limit / .milliseconds(1))) > 0
  }

  func rest() -> [String] {
    var rest: [String] = []
    while let line = try? next() { rest.append(line) }
    return rest
  }
}

/// A bus of a test's own, whose folder is gone afterwards.
package final class TestBus {
  package init() {}

  /// Its path is short, since that of a socket is.
  package let folder = "/tmp/k\(UInt32.random(in: 0 ... .max))"

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// A relay of the test's waits a minute for a silent hub or command, however slow the machine is.
  package var transport: Relay.Transport {
    .host("test", in: folder, silence: SilenceLimits(ofHub: 600, ofMembers: 600))
  }

  package func start(
    _ arguments: String..., shell: String? = nil, blocks: Bool = true
  ) throws -> CommandProcess {
    try CommandProcess(
      ["--bus", "test", "--folder", folder] + arguments, shell: shell, blocks: blocks)
  }
}
