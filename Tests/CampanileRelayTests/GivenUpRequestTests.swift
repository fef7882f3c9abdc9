import Campanile
import Dispatch
import TestSupport
import Testing

@testable import CampanileRelay

@Suite("Requests that nobody waits for any more", .ownThread, .timeLimit(.long))
struct GivenUpRequestTests {
  private func ask(_ relay: Relay, within limit: Duration) -> Task<[UInt8], any Error> {
    Task { try await relay.request(raw: [1], to: "q", within: limit) }
  }

  @Test("The link is told of a request that is canceled, and of one whose time is over")
  func givenUp() async throws {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    var operations = link.operations.makeAsyncIterator()
    for (limit, code) in [
      (Duration.seconds(3_000), nil), (.milliseconds(1), RelayError.Code.timedOut),
    ] {
      var asking = ask(relay, within: limit)
      var operation = await operations.next()
      // On a busy machine, its time may be over before it is sent.
      while code != nil, case .forget? = operation {
        asking = ask(relay, within: limit)
        operation = await operations.next()
      }
      guard case .request(let number, "q", _, _, _)? = operation else {
        Issue.record("there is no request")
        return
      }
      if code == nil { asking.cancel() }
      guard case .forget([number])? = await operations.next() else {
        Issue.record("the request is not forgotten")
        return
      }
      let result = await asking.result
      #expect(throws: (any Error).self) { try result.get() }
      if let code {
        #expect(throws: RelayError.self) { try result.get() }
        do { _ = try result.get() } catch { #expect((error as? RelayError)?.code == code) }
      }
    }
    relay.cancel()
  }

  @Test("K16 Requests that were given up leave nothing")
  func givenUpRequests() async {
    await #expect(processExitsWith: .success) {
      // Nobody is reached: the requests wait at the link, until they are taken back.
      let relay = Relay(.host("given up", in: "/dev/null"))
      func rounds(_ count: Int) async {
        for _ in 0..<count {
          await withTaskGroup { group in
            for _ in 0..<500 {
              group.addTask {
                _ = try? await relay.request(raw: [1], to: "q", within: .milliseconds(30))
              }
            }
          }
        }
      }
      await rounds(5)
      let before = liveBytes
      await rounds(40)
      #expect(before > 0)
      // 20,000 requests that were kept would have 2 MB. The last ones may still be on their way.
      #expect(liveBytes - before < 1 << 20, "\(liveBytes - before)")
      relay.cancel()
    }
  }

  @Test("The link is told of a flush that is canceled")
  func givenUpFlush() async throws {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    var operations = link.operations.makeAsyncIterator()
    let flushing = Task { try await relay.flush() }
    guard case .flush(let token)? = await operations.next() else {
      Issue.record("there is no flush")
      return
    }
    flushing.cancel()
    guard case .forget([token])? = await operations.next() else {
      Issue.record("the flush is not forgotten")
      return
    }
    await #expect(throws: CancellationError.self) { try await flushing.value }
    relay.cancel()
  }

  @Test("A request whose time is over before it is sent is not sent")
  func overBefore() async throws {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    link.queue.suspend()
    let error = await #expect(throws: RelayError.self) {
      try await relay.request(raw: [1], to: "q", within: .milliseconds(1))
    }
    #expect(error?.code == .timedOut)
    relay.post(raw: [2], to: "a")
    link.queue.resume()
    for await operation in link.operations {
      if case .posts = operation { break }
      if case .request = operation { Issue.record("The request is sent.") }
    }
    relay.cancel()
  }

  @Test("A task that is canceled asks nobody")
  func canceledBefore() async throws {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    let asking = Task {
      // Until it is canceled.
      try? await Task.sleep(for: lostAfter)
      return try await relay.request(raw: [1], to: "q", within: lostAfter)
    }
    asking.cancel()
    await #expect(throws: CancellationError.self) { try await asking.value }
    relay.post(raw: [2], to: "a")
    for await operation in link.operations {
      if case .posts = operation { break }
      Issue.record("\(operation) is not expected.")
    }
    relay.cancel()
  }
}
