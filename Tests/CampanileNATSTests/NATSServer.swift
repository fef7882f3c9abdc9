import Campanile
import Foundation
import Testing

/// A server of NATS that a test starts, on a port of the system's choosing.
final class NATSServer: Sendable {
  private let program: String
  private let arguments: [String]
  private let process = Locked<Process?>(nil)
  private let chosen = Locked<Int?>(nil)
  let folder: URL

  /// The programs that tests use.
  ///
  /// `CAMPANILE_NATS_SERVERS` names them, with colons between their paths.
  static let programs: [String] = {
    #if NATS
      let value = ProcessInfo.processInfo.environment["CAMPANILE_NATS_SERVERS"]
      return value?.split(separator: ":").map(String.init) ?? []
    #else
      return []
    #endif
  }()

  /// - Parameter configuration: In the server's own language; FOLDER stands for a folder for it.
  init(_ program: String, _ configuration: String = "", arguments: [String] = []) throws {
    self.program = program
    folder = URL(filePath: "/tmp/nats\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appending(path: "server.conf")
    try configuration.replacing("FOLDER", with: folder.path).write(
      to: file, atomically: true, encoding: .utf8)
    self.arguments = ["-c", file.path, "-a", "127.0.0.1"] + arguments
    try start()
  }

  deinit {
    kill()
    try? FileManager.default.removeItem(at: folder)
  }

  var port: Int { chosen.withLock { $0 ?? 0 } }
  var url: String { "nats://127.0.0.1:\(port)" }

  /// Starts the server, on the port that it had before.
  func start() throws {
    let new = Process()
    new.executableURL = URL(filePath: program)
    let pipe = Pipe()
    new.standardError = pipe
    new.arguments = arguments + ["-p", "\(chosen.withLock { $0 } ?? -1)"]
    try new.run()
    process.withLock { $0 = new }
    var log = Data()
    while true {
      let data = pipe.fileHandleForReading.availableData
      if data.isEmpty {
        throw ServerFailure(description: String(decoding: log, as: UTF8.self))
      }
      log += data
      let text = String(decoding: log, as: UTF8.self)
      guard text.contains("Server is ready\n") else { continue }
      for line in text.split(separator: "\n") {
        guard let end = line.range(of: "client connections on 127.0.0.1:") else { continue }
        chosen.withLock { $0 = Int(line[end.upperBound...]) }
      }
      break
    }
  }

  func signal(_ number: Int32) {
    process.withLock { process in
      if let process { _ = Foundation.kill(process.processIdentifier, number) }
    }
  }

  var isRunning: Bool { process.withLock { $0?.isRunning ?? false } }

  /// Ends the server as no signal handler sees it.
  func kill() {
    guard let process = process.withLock({ $0.take() }) else { return }
    let isOver = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in isOver.signal() }
    _ = Foundation.kill(process.processIdentifier, SIGKILL)
    if process.isRunning { isOver.wait() }
  }
}

struct ServerFailure: Error, CustomStringConvertible {
  let description: String
}

extension Trait where Self == ConditionTrait {
  /// For tests that need servers.
  static var withServers: Self {
    .enabled(
      if: !NATSServer.programs.isEmpty,
      "CAMPANILE_NATS_SERVERS names no servers; scripts/nats-servers installs and prints some")
  }
}
