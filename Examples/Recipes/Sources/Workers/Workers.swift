import Campanile
import CampanileRelay

nonisolated struct Job: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "print.job"
  var page: Int
}

nonisolated final class Worker: Sendable {
  let center = MessageCenter()
  let relay = Relay(.loopback("jobs"), name: "worker")  // between processes: .host("jobs")

  init(_ printed: CurrentValue<Set<Int>>) {
    center.observe(Job.self, owner: self) { _, job in printed.update { $0.formUnion([job.page]) } }
    relay.carry(Job.self, in: center, .inward, .oneOf("workers"))
  }
}

@main struct Workers {
  static func main() async throws {
    let printed = CurrentValue<Set<Int>>([])
    let workers = [Worker(printed), Worker(printed), Worker(printed)]
    for worker in workers { try await worker.relay.flush() }
    let (center, relay) = (MessageCenter(), Relay(.loopback("jobs"), name: "office"))
    relay.carry(Job.self, in: center, .outward)
    for page in 1...9 { center.post(Job(page: page)) }
    for await pages in printed.values(options: .initial) where pages.count == 9 { break }
    print("printed \(printed.value.sorted()), for nobody: \(relay.unheard.value)")
  }
}
