import Campanile
import CampanileInspector
import Foundation

/// The program: one player with many observers.
@main struct PlayerMain {
  static func main() async {
    do {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      if arguments.wantsHelp { return print(Arguments.usage) }
      try await play(arguments)
    } catch {
      FileHandle.standardError.write(Data("player: \(error)\n".utf8))
      exit(error is Arguments.Mistake ? 2 : 1)
    }
  }

  @MainActor private static func play(_ arguments: Arguments) async throws {
    let reader = try open(arguments.path)
    if arguments.wantsSamples, isatty(STDOUT_FILENO) == 1 {
      throw Arguments.Mistake(description: "--raw needs a pipe or a file for its samples.")
    }
    let output = arguments.wantsSamples ? FileHandle.standardError : .standardOutput
    let controls = Controls(display: output)
    // However this ends, the terminal is as it was.
    defer { controls.finish() }
    let display = Display(on: output)
    display.say("Watch the visualizer: it is released halfway, and hears nothing from then on.")
    let title = arguments.path ?? "A tune on four bells"
    display.say(
      "\(title): \(reader.format)\(controls.hasKeys ? ". Space pauses, q quits." : "")")

    let player = Player()
    let commands = controls.commands.observe(owner: player) { player, command in
      switch command {
      case .togglePause: player.togglePause()
      case .quit: player.stop()
      }
    }
    let raw = arguments.wantsSamples ? RawOutput(player) : nil
    defer { withExtendedLifetime(raw) {} }
    let trace = arguments.tracePath.map { _ in Trace(of: player.center, player.changesOfState) }
    #if Page
      let inspector =
        arguments.wantsPage ? Inspector(of: player.center, player.changesOfState) : nil
      let page = try await inspector?.serve()
      if let page { display.say("Look at \(page)") }
      defer { withExtendedLifetime(page) {} }
    #endif
    let outward = arguments.bus.map { Outward(player, to: $0) }
    if let outward, await !outward.connect() {
      display.say("There is no bus '\(arguments.bus ?? "")': nobody outside is told.")
    }
    player.play(Track(title: title, duration: reader.duration))
    let stage = Stage(
      player, duration: reader.duration, speed: arguments.speed, display: display)
    let statistics = Statistics()
    await statistics.follow(player)
    let decoder = Decoder(reader, speed: arguments.speed, for: player)
    decoder.start()

    let error = await player.ending()
    await outward?.finish()
    commands.cancel()
    display.finish()
    controls.finish()
    if let error { throw error }
    if let trace, let path = arguments.tracePath {
      trace.stop()
      try trace.write(to: path)
      display.say("Who took longest, by file and line:")
      for time in trace.slowest(3) { display.say("  \(time)") }
      display.say("The rest is in \(path): open it in ui.perfetto.dev.")
    }
    stage.report(with: [statistics.tally, decoder.tally])
    display.say(await statistics.summary)
    if let status = controls.exitStatus { exit(status) }
  }

  /// Opens the file that the user named, or our own tune.
  private static func open(_ path: String?) throws(WaveError) -> WaveReader {
    if let path { return try WaveReader(path: path) }
    let path = try BellTune.write()
    // The open file remains readable after its name is removed. So nothing is left behind, however
    // the program ends.
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try WaveReader(path: path)
  }
}
