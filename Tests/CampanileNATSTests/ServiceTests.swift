#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Logging
  import RelayTestSupport
  import ServiceLifecycle
  import TestSupport
  import Testing

  @Suite("A relay as a service, without a server", .timeLimit(.minutes(5)))
  struct ServiceTests {
    @Test("If the task is canceled while the relay is drained, the relay ends at once")
    func canceledWhileDraining() async throws {
      let (link, gate) = (RecordingLink(), Gate())
      let heard = Recorder<[UInt8]>(timeout: patience)
      let relay = Relay(Relay.Transport { _, _ in link })
      let token = relay.raw("x").observe {
        heard.record($0.bytes)
        gate.pass()
      }
      var operations = link.operations.makeAsyncIterator()
      link.say(.connected)
      for number in [1, 2] as [UInt8] {
        link.say(.message(sender: 0, subject: "x", version: 0, path: [], payload: [number]))
      }
      #expect(try await heard.next() == [1])
      let group = ServiceGroup(services: [relay], logger: Logger(label: "test"))
      let running = Task { try await group.run() }
      await group.triggerGracefulShutdown()
      while let operation = await operations.next() {
        if case .endHearing = operation { break }
      }
      running.cancel()
      // The link ends.
      while await operations.next() != nil {}
      gate.open()
      _ = await running.result
      #expect(try await relay.first { $0 == .ended } == .ended)
      #expect(heard.values == [[1]])
      withExtendedLifetime(token) {}
    }
  }
#endif
