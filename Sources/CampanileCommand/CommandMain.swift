import CampanileRelay
import Foundation

/// The program: one command on one bus.
@main struct CommandMain {
  static func main() async {
    ProgramCalls.openStandardDescriptors()
    // The reader of the output may exit first. A write then fails, instead of ending the program.
    signal(SIGPIPE, SIG_IGN)
    let ending: Ending
    do {
      ending = try await run(Arguments(CommandLine.arguments.dropFirst()))
    } catch let mistake as Arguments.Mistake {
      ending = Ending(status: 2, reason: mistake.description)
    } catch let other as Ending {
      ending = other
    } catch {
      ending = .failed("\(error)")
    }
    if let reason = ending.reason { Output.note(reason) }
    exit(ending.status)
  }

  private static func run(_ arguments: Arguments) async throws -> Ending {
    let bus = arguments.bus
    let session = { (name: String) in Session(bus, name: "campanile " + name) }
    switch arguments.command {
    case .help: try Output.write(Syntax.usage)
    // No version has been released yet.
    case .version: try Output.write("campanile unreleased")
    case .completion(let shell): try Output.write(Completion.script(for: shell))
    case .listen(let pattern, let group, let json, let count):
      return await session("listen").run {
        try await $0.listen(pattern, oneOf: group, json: json, count: count)
      }
    case .post(let subject, let json):
      return await session("post").run { try await $0.post(json, to: subject) }
    case .request(let subject, let json, let limit):
      return await session("request").run {
        try await $0.request(json, of: subject, within: limit)
      }
    case .peers: return await session("peers").run { try await $0.listPeers() }
    case .hub:
      let session = Session(bus, name: "campanile hub", becomesHub: true)
      return await session.run { try await $0.stay() }
    case .bench(let count, let size):
      return try await Bench(count: count, size: size).run(arguments)
    case .benchReceiver: return await session("bench receiver").run { try await $0.receive() }
    }
    return .done
  }
}
