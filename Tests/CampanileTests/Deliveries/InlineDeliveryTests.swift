import Dispatch
import Testing

@testable import Campanile

@Suite("K11: already there", .ownThread)
struct InlineDeliveryTests {
  private let center = MessageCenter()
  private let heard = Recorder<String>()
  private let queue = TestQueue()

  @Test("K11 a poster is on a queue that its own queue targets, and never on a global queue")
  func targeted() throws {
    let mine = try #require(queue.delivery.target)
    DispatchQueue(label: "targets mine", target: queue.queue).sync { #expect(mine.isCurrent) }
    let global = try #require(Delivery.queue(.global()).target)
    DispatchQueue(label: "concurrent", attributes: .concurrent).sync {
      #expect(!global.isCurrent)
    }
    DispatchQueue.global().sync { #expect(!global.isCurrent) }
  }

  @Test("K11 D7 a poster on the queue queues behind what waits there")
  func behind() {
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in
      heard.record("\($0.number)")
    }
    let gate = Gate()
    queue.queue.async { [center, heard] in
      gate.pass()
      center.post(Tick(number: 2))
      heard.record("posted")
    }
    gate.waitUntilReached()
    center.post(Tick(number: 1))
    gate.open()
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == ["posted", "1", "2"])
  }

  @Test("K11 after an inline delivery the queue is free for the next")
  func again() {
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in
      heard.record("\($0.number)")
    }
    queue.run {
      for number in 0..<3 {
        center.post(Tick(number: number))
        heard.record("posted")
      }
    }
    withExtendedLifetime(token) {}
    #expect(heard.values == ["0", "posted", "1", "posted", "2", "posted"])
  }

  @Test("K11 E8 ordered observers always queue, unordered ones beside them run inline")
  func ordered() {
    let tokens = [
      center.observe(Tick.self, on: queue.delivery.ordered) { [heard] _ in heard.record("ordered")
      },
      center.observe(Tick.self, on: queue.delivery) { [heard] _ in heard.record("inline") },
    ]
    queue.run {
      center.post(Tick(number: 1))
      heard.record("posted")
    }
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["inline", "posted", "ordered"])
  }

  @Test("K5 observers that always queue are called after the others of their queue")
  func orderedLast() {
    let tokens = [
      center.observe(Tick.self, on: queue.delivery.ordered) { [heard] in
        heard.record("ordered \($0.number)")
      },
      center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record("\($0.number)") },
      center.anyMessage.observe(on: queue.delivery) { [heard] _ in heard.record("any") },
    ]
    for number in 1...2 { center.post(Tick(number: number)) }
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["1", "any", "ordered 1", "2", "any", "ordered 2"])
  }

  @Test("K11 an ordered neighbor that has ended makes nobody queue")
  func orderedNeighbor() {
    let ordered = center.observe(Tick.self, on: queue.delivery.ordered) { _ in }
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in
      heard.record("\($0.number)")
    }
    ordered.cancel()
    queue.run {
      for number in 1...2 {
        center.post(Tick(number: number))
        heard.record("posted")
      }
    }
    withExtendedLifetime(token) {}
    #expect(heard.values == ["1", "posted", "2", "posted"])
  }

  @Test("K11 an actor's observers always queue, also for a poster on the actor")
  func actor() async throws {
    let poster = Poster()
    center.observe(Tick.self, on: poster) { $0.heard.append("\($1.number)") }
    await poster.post(through: center)
    try await center.postAndWait(Tick(number: 2))
    #expect(await poster.heard == ["posted", "1", "2"])
  }

  @Test("K11 main delivery runs inline on the main actor with nothing waiting there")
  func mainInline() async {
    await #expect(processExitsWith: .success) {
      await MainActor.run {
        let center = MessageCenter()
        let heard = Recorder<String>()
        let tokens = [
          center.observe(Tick.self, on: .main) { _ in heard.record("main") },
          center.observe(Tick.self, on: .queue(.main)) { _ in heard.record("main queue") },
          center.observe(Tick.self, on: .main(ordered: true)) { _ in heard.record("ordered") },
          center.observe(Tick.self, on: .queue(.main).ordered) { _ in heard.record("ordered") },
        ]
        center.post(Tick(number: 1))
        precondition(heard.values == ["main", "main queue"])
        withExtendedLifetime(tokens) {}
      }
    }
  }

  @Test("K11 main is known by its queue after the main task has suspended")
  func mainAfterSuspension() async {
    await #expect(processExitsWith: .success) {
      await Task { @MainActor in
        await Task.yield()
        let center = MessageCenter()
        let heard = Recorder<Int>()
        let token = center.observe(Tick.self, on: .main) { heard.record($0.number) }
        center.post(Tick(number: 1))
        precondition(heard.values == [1])
        try? await center.postAndWait(Tick(number: 2))
        precondition(heard.values == [1, 2])
        withExtendedLifetime(token) {}
      }.value
    }
  }

  @Test("K11 main delivery from another thread runs on the main actor")
  func mainFromElsewhere() async throws {
    let token = center.observe(Tick.self, on: .main) { [heard] _ in
      MainActor.assertIsolated()
      dispatchPrecondition(condition: .onQueue(.main))
      heard.record("main")
    }
    onThread { [center] in center.post(Tick(number: 1)) }()
    try await center.postAndWait(Tick(number: 2))
    withExtendedLifetime(token) {}
    #expect(heard.values == ["main", "main"])
  }

  @Test("Deliveries describe themselves")
  func descriptions() {
    #expect(Delivery.immediate.description == ".immediate")
    #expect(Delivery.queue(.main).description == ".main")
    #expect(queue.delivery.description == ".queue(test)")
    #expect(queue.delivery.ordered.description == ".queue(test), ordered")
    #expect(Delivery.target(ManualTarget()).description == "ManualDelivery")
  }
}

private actor Poster {
  var heard: [String] = []

  func post(through center: MessageCenter) {
    center.post(Tick(number: 1))
    heard.append("posted")
  }
}
