import CampanileTesting
import Dispatch
import Testing

@testable import CampanileRelay

/// Records what a link receives.
private final class Receiver: RelayReceiver {
  let incidents = Recorder<RelayIncident>(timeout: .seconds(600))

  func receive(_ incidents: [RelayIncident]) {
    for incident in incidents { self.incidents.record(incident) }
  }

  func hasGoneOn() -> Bool { false }

  /// Waits for an incident, and returns what came before it.
  func incidents(upTo isLast: (RelayIncident) -> Bool) async throws -> [RelayIncident] {
    var earlier: [RelayIncident] = []
    while true {
      let incident = try await incidents.next()
      if isLast(incident) { return earlier }
      earlier.append(incident)
    }
  }
}

extension RelayIncident {
  fileprivate var isConnected: Bool { if case .connected = self { true } else { false } }
  fileprivate var isFlushed: Bool { if case .flushed = self { true } else { false } }
  fileprivate var isMessage: Bool { if case .message = self { true } else { false } }
}

@Suite("The link of a member", .timeLimit(.minutes(30)))
struct MemberLinkTests {
  @Test("The time that a request waits is clamped, and rounded up")
  func milliseconds() {
    #expect(Duration.seconds(Int64.max).milliseconds == .max)
    #expect(Duration.seconds(5_000_000).milliseconds == .max)
    #expect(Duration.seconds(Int64.min).milliseconds == 1)
    #expect(Duration.microseconds(1_500_100).milliseconds == 1_501)
  }

  @Test("R1 A process that takes no messages joins all the same, and takes them later")
  func joinsWithoutReading() async throws {
    let bus = LoopbackBus.named("\(UInt64.random(in: 0 ... .max))")
    let (link, receiver) = (MemberLink(.memory(bus), name: "one", .newest()), Receiver())
    link.queue.sync {
      link.perform([.subscribe("a")])
      link.setReading(false)
    }
    link.start(receiver)
    _ = try await receiver.incidents { $0.isConnected }
    let (other, otherReceiver) = (MemberLink(.memory(bus), name: "other", .newest()), Receiver())
    var posts = RelayPosts()
    posts.append(RelayPosts.Heading(subject: "a", version: 0), [1])
    other.queue.sync { [posts] in other.perform([.posts(posts), .flush(1)]) }
    other.start(otherReceiver)
    // In the end, the first one counts as stopped.
    _ = try await otherReceiver.incidents { $0.isFlushed }
    #expect(!receiver.incidents.values.contains { $0.isMessage })
    link.queue.sync { link.setReading(true) }
    _ = try await receiver.incidents { $0.isMessage }
    for link in [link, other] { link.stop() }
  }
}
