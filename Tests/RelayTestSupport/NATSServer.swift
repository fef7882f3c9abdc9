import Campanile
package import TestSupport
package import Testing

#if NATS
  package import Foundation
  import NIOCore
  import NIOPosix

  extension Process {
    /// Starts the program, while no other one is started here.
    ///
    /// - Returns: What it writes, to its standard output and as errors.
    @discardableResult
    package func start(readingErrors: Bool = false) throws -> FileHandle {
      try startingAlone {
        let output = Pipe()
        standardOutput = output
        standardError = readingErrors ? output : FileHandle.nullDevice
        try run()
        return output.fileHandleForReading
      }
    }
  }

  /// A server of NATS that a test starts.
  package final class NATSServer: Sendable {
    private let program: String
    private let arguments: [String]
    private let running: Locked<(process: Process, end: ProgramEnd)?>
    package let port: Int
    package let folder: URL

    /// The programs that tests use.
    ///
    /// `CAMPANILE_NATS_SERVERS` names them, with colons between their paths.
    package static let programs: [String] =
      ProcessInfo.processInfo.environment["CAMPANILE_NATS_SERVERS"]?
      .split(separator: ":").map(String.init) ?? []

    /// The programs of version 2 and so much, and later ones.
    package static func programs(since minor: Int) -> [String] {
      programs.filter { program in
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["--version"]
        let text = try? process.start().readDataToEndOfFile()
        let words = text.map { String(decoding: $0, as: UTF8.self).split(separator: ".") } ?? []
        return words.count == 3 && Int(words[1]).map { $0 >= minor } == true
      }
    }

    /// - Parameter configuration: In the server's own language; FOLDER stands for a folder for it.
    package init(_ program: String, _ configuration: String = "", arguments: [String] = []) throws {
      self.program = program
      folder = URL(filePath: "/tmp/nats\(UInt32.random(in: 0 ... .max))")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let file = folder.appending(path: "server.conf")
      try configuration.replacing("FOLDER", with: folder.path).write(
        to: file, atomically: true, encoding: .utf8)
      self.arguments = ["-c", file.path, "-a", "127.0.0.1"] + arguments
      var tries = 0
      while true {
        let port = Self.freePort()
        do {
          running = Locked(try Self.start(program, self.arguments, port))
          self.port = port
          return
        } catch let failure as ServerFailure {
          // Another process may have taken the port meanwhile.
          tries += 1
          guard tries < 5, failure.description.contains("address already in use") else {
            throw failure
          }
        }
      }
    }

    deinit {
      kill()
      try? FileManager.default.removeItem(at: folder)
    }

    private static let lastPort = Locked(Int.random(in: 20_000...31_000))

    /// A port that nobody has, below those that the system gives to connections: a server that is
    /// started again has it again.
    package static func freePort() -> Int {
      lastPort.withLock { port in
        repeat { port = port < 32_000 ? port + 1 : 20_000 } while !isFree(port)
        return port
      }
    }

    private static func isFree(_ port: Int) -> Bool {
      let socket = try? ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(host: "127.0.0.1", port: port).wait()
      try? socket?.close().wait()
      return socket != nil
    }

    package var url: String { "nats://127.0.0.1:\(port)" }

    /// Starts the server again, and returns when it is ready.
    package func start() throws {
      let new = try Self.start(program, arguments, port)
      running.withLock { $0 = new }
    }

    private static func start(
      _ program: String, _ arguments: [String], _ port: Int
    ) throws -> (Process, ProgramEnd) {
      let new = Process()
      let end = ProgramEnd(of: new)
      new.executableURL = URL(filePath: program)
      new.arguments = arguments + ["-p", "\(port)"]
      let output = try new.start(readingErrors: true)
      let log = Locked("")
      let isStarted = DispatchSemaphore(value: 0)
      // All that it writes is read: a server whose pipe is full would wait.
      Thread.detachNewThread {
        var isWaiting = true
        while true {
          let data = output.availableData
          let text = log.withLock { log in
            log += String(decoding: data, as: UTF8.self)
            return log
          }
          if isWaiting, data.isEmpty || text.contains("Server is ready\n") {
            isStarted.signal()
            isWaiting = false
          }
          if data.isEmpty { return }
        }
      }
      isStarted.wait()
      let text = log.withLock { $0 }
      if !text.contains("Server is ready\n") { throw ServerFailure(description: text) }
      return (new, end)
    }

    package func signal(_ number: Int32) {
      running.withLock { $0?.process.send(number) }
    }

    package var isRunning: Bool { running.withLock { $0?.process.isRunning ?? false } }

    /// Ends the server as no signal handler sees it.
    package func kill() { end(SIGKILL) }

    /// Ends the server, and returns when it has ended.
    package func end(_ signal: Int32) {
      guard let (process, end) = running.withLock({ $0.take() }), process.isRunning else { return }
      process.send(signal)
      end.wait()
    }
  }

  package struct ServerFailure: Error, CustomStringConvertible {
    package let description: String
    package init(description: String) { self.description = description }
  }
#else
  package enum NATSServer {
    package static let programs: [String] = []
  }
#endif

/// For tests that need servers: without any, they are skipped.
package struct ServerTrait: SuiteTrait, TestTrait, TestScoping {
  private let condition = ConditionTrait.enabled(
    if: !NATSServer.programs.isEmpty,
    "CAMPANILE_NATS_SERVERS names no servers; scripts/nats-servers installs and prints some")

  package var isRecursive: Bool { true }

  package func prepare(for test: Test) async throws { try await condition.prepare(for: test) }

  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await serverPlaces.withPlace(function)
  }
}

extension Trait where Self == ServerTrait {
  package static var withServers: Self { Self() }
}

/// The tests that have servers at the same time.
///
/// If all of them started theirs at once, a server would take longer for an answer than a relay waits.
package let serverPlaces = Places(8)
