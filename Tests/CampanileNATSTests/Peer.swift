#if NATS
  import Campanile
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import RelayTestSupport
  import TestSupport

  /// A program with a client of NATS that others have made, which is talked to by lines.
  final class Peer: Sendable {
    private let process = Process()
    private let input = Pipe()
    private let lines = Recorder<String>(timeout: patience)

    init(_ program: String, _ arguments: [String]) throws {
      process.executableURL = URL(filePath: program)
      process.arguments = arguments
      process.standardInput = input
      let output = try process.start()
      // A thread of its own: whoever waits for a line must not keep others from running.
      Thread.detachNewThread { [lines] in
        var rest = Data()
        while true {
          let data = output.availableData
          if data.isEmpty { return }
          rest += data
          while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            lines.record(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
          }
        }
      }
    }

    deinit { if process.isRunning { process.terminate() } }

    /// The next line.
    func hear() async throws -> String { try await lines.next() }

    func say(_ line: String) throws {
      try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }
  }

  extension Member {
    /// Answers requests under the name "double", and throws for empty ones.
    func answerDouble() -> ObservationToken {
      relay.answer(raw: "double") { _, bytes in
        if bytes.isEmpty { throw ServerFailure(description: "nothing\nto double") }
        return bytes + bytes
      }
    }
  }
#endif
