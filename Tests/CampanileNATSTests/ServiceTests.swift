#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Dispatch
  import Logging
  import ServiceLifecycle
  import TestSupport
  import Testing

  @Suite("A relay as a service, without a server", .timeLimit(.minutes(5)))
  struct ServiceTests {
    /// A link that is connected, and that says when its relay is drained and when it ends.
    private final class QuietLink: RelayLink {
      let queue = DispatchQueue(label: "test.link")
      let step: UInt64 = 1
      let steps = Recorder<String>(timeout: patience)
      private let receiver = Locked<(any RelayReceiver)?>(nil)

      func start(_ receiver: any RelayReceiver) { self.receiver.withLock { $0 = receiver } }
      func perform(_ operations: [RelayOperation]) {
        for case .endHearing in operations { steps.record("drains") }
      }
      func setReading(_ reads: Bool) {}
      func stop() {
        steps.record("ends")
        // Released outside the lock. Otherwise each would keep the other.
        let receiver = receiver.withLock { $0.take() }
        withExtendedLifetime(receiver) {}
      }

      func say(_ incidents: [RelayIncident]) {
        let receiver = receiver.withLock { $0 }
        queue.async { receiver?.receive(incidents) }
      }
    }

    @Test("If the task is canceled while the relay is drained, the relay ends at once")
    func canceledWhileDraining() async throws {
      let (link, gate) = (QuietLink(), Gate())
      let heard = Recorder<[UInt8]>(timeout: patience)
      let relay = Relay(Relay.Transport { _, _ in link })
      let token = relay.raw("x").observe {
        heard.record($0.bytes)
        gate.pass()
      }
      link.say(
        [.connected]
          + [1, 2].map {
            .message(sender: 0, subject: "x", version: 0, path: [], payload: [$0])
          })
      #expect(try await heard.next() == [1])
      let group = ServiceGroup(services: [relay], logger: Logger(label: "test"))
      let running = Task { try await group.run() }
      await group.triggerGracefulShutdown()
      #expect(try await link.steps.next() == "drains")
      running.cancel()
      #expect(try await link.steps.next() == "ends")
      gate.open()
      _ = await running.result
      #expect(try await relay.first { $0 == .ended } == .ended)
      #expect(heard.values == [[1]])
      withExtendedLifetime(token) {}
    }
  }
#endif
