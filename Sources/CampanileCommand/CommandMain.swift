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
    switch arguments.action {
    case .write(let text): try Output.write(text)
    case .onBus(let name, let becomesHub, let body):
      let session = Session(arguments.bus, name: "campanile " + name, becomesHub: becomesHub)
      return await session.run(body)
    case .measure(let bench): return await bench.run(on: arguments.bus)
    }
    return .done
  }
}
