import ArgumentParser

/// Runs one case so often, and nothing else, for a tool that counts instructions.
struct CountInstructions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "instructions", shouldDisplay: false)

  @Argument var name: String
  @Argument var count: Int

  func run() throws {
    throw ValidationError("There is no case \(name).")
  }
}
