import Campanile
import CampanileRelay
import CampanileTesting
import Dispatch
import Testing

/// What a flush waits for on one host.
@Suite(.timeLimit(.minutes(30)))
struct FlushTests {
  @Test("R1 A flush waits for a process that is slow and goes on", arguments: Kind.allCases)
  func slowObserver(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (poster, listener) = (Member(bus), Member(bus))
      for member in [poster, listener] { member.relay.carry(Load.self, in: member.center) }
      let stroke = DispatchSemaphore(value: 0)
      let clock = DispatchSource.makeTimerSource()
      clock.schedule(deadline: .now(), repeating: .milliseconds(10))
      clock.setEventHandler { stroke.signal() }
      clock.activate()
      let heard = Locked(0)
      let token = listener.center.observe(Load.self) { _ in
        stroke.wait()
        heard.withLock { $0 += 1 }
      }
      for member in [poster, listener] { try await member.relay.flush() }
      for _ in 1...300 { poster.center.post(Load(byteCount: 10_000)) }
      try await poster.relay.flush()
      // What the process has received and not told waits: at most a megabyte, and what was read at once.
      #expect(heard.withLock { $0 } >= 150)
      clock.cancel()
      for _ in 1...300 { stroke.signal() }
      token.cancel()
    }
  }
}
