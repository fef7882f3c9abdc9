import ArgumentParser
import Campanile
import CampanileRelay
import Foundation

/// The other process of the cases in which messages travel.
struct Receive: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reads what another process sends; started by the cases.", shouldDisplay: false)

  @Argument(help: "pipe, or the folder of a bus.")
  var source: String

  func run() throws {
    if source == "pipe" { return BarePipe.receive() }
    let relay = Relay(.host("bench", in: source), name: "receiver")
    let center = MessageCenter()
    relay.carry(Track.self, in: center, .inward)
    let sink = Sink()
    let tokens = [
      center.observe(Track.self) { sink.add($0.title.utf8.count) },
      relay.raw("x.y").observe { sink.add($0.bytes.count) },
      // What was sent before has been delivered when it is asked.
      relay.answer(raw: "end") { _, bytes in bytes },
    ]
    Task {
      try await relay.flush()
      Output.write("ready")
    }
    _ = readLine()
    withExtendedLifetime(tokens) {}
  }

  /// Starts this program as the other process.
  static func start(_ arguments: [String], input: Any, output: Pipe? = nil) throws -> Process {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["receive"] + arguments
    process.standardInput = input
    if let output { process.standardOutput = output }
    try process.run()
    return process
  }
}
