import TestSupport
import Testing

@testable import CampanileRelay

/// The promises of the bus, under thousands of orders of events.
///
/// A failure names its seed: `Simulation(seed:_:isTraced:)` with the same options repeats it.
struct SimulationTests {
  private func run(_ seeds: Int, _ options: Simulation.Options) {
    for seed in 0..<UInt64(Effort.times(seeds / 8, long: seeds)) {
      let failures = Simulation(seed: seed, options).run()
      guard failures.isEmpty else {
        let again = Simulation(seed: seed, options, isTraced: true)
        _ = again.run()
        Issue.record(
          "Seed \(seed): \(failures)\n\((again.trace ?? []).joined(separator: "\n"))")
        return
      }
    }
  }

  @Test(arguments: [2, 5])
  func nothingIsLostWhenProcessesDie(members: Int) {
    run(400, Simulation.Options(members: members))
  }

  @Test(arguments: [2, 5])
  func silentHubsAreReplaced(members: Int) {
    run(300, Simulation.Options(members: members, stops: true))
  }

  @Test(arguments: [2, 5])
  func hubsGiveWay(members: Int) {
    run(300, Simulation.Options(members: members, takesOver: true))
  }

  @Test func slowMembersAreToldWhatTheyLose() {
    run(300, Simulation.Options(hasSlowMembers: true))
  }

  @Test func hubsThatAreTakenForSilent() {
    run(300, Simulation.Options(steps: 200, stops: true, isDisorderly: true))
  }

  @Test func smallLogs() {
    run(300, Simulation.Options(stops: true, hasSlowMembers: true, logLimit: 1_000))
  }
}
