import Testing

@testable import Campanile

@Suite("Tokens, registrations and pauses", .ownThread)
struct TokenTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test("K3 E1 H2 Releasing a token ends its registration")
  func release() {
    let slot = Slot<ObservationToken>()
    slot.set(center.observe(Tick.self) { [heard] in heard.record($0.number) })
    let registration = slot.value?.registration
    center.post(Tick(number: 1))
    slot.set(nil)
    center.post(Tick(number: 2))
    #expect(heard.values == [1])
    #expect(registration?.isActive == false)
  }

  @Test("A token can be made of a registration, and then bounds it")
  func tokenOfRegistration() {
    let screen = Screen()
    func observe() {
      let registration = center.observe(Tick.self, owner: screen) { $0.heard.record($1.number) }
      let token = ObservationToken(registration)
      center.post(Tick(number: 1))
      withExtendedLifetime(token) {}
    }
    observe()
    center.post(Tick(number: 2))
    #expect(screen.heard.values == [1])
  }

  /// How to wait for a call.
  enum WaitForm: CaseIterable { case blocking, suspending }

  @Test(
    "K4 Both forms of cancelAndWait return after the call that is running, of both kinds of observer",
    arguments: WaitForm.allCases, [true, false])
  func waitForms(form: WaitForm, isAsynchronous: Bool) async throws {
    // Who blocks for an asynchronous observer is not known to wait when the call goes on.
    for _ in 0..<(form == .blocking && isAsynchronous ? 20 : 1) {
      let (gate, asyncGate, order) = (Gate(), AsyncGate(), Recorder<String>())
      let waits = Recorder<Registration.Wait>()
      let token =
        if isAsynchronous {
          center.messages(of: Tick.self).observeAsync { _ in
            await asyncGate.pass()
            order.record("call")
          }
        } else {
          center.observe(Tick.self) { _ in
            gate.pass()
            order.record("call")
          }
        }
      let (registration, executor) = (token.registration, ManualExecutor())
      let post = onThread { [center] in center.post(Tick(number: 1)) }
      if isAsynchronous {
        await asyncGate.waitUntilReached()
      } else {
        try await gate.reached(within: patience)
      }
      if form == .blocking {
        _ = onThread {
          let wait = registration.cancelAndWait()
          order.record("waited")
          waits.record(wait)
        }
      } else {
        Task(executorPreference: executor) {
          let wait = await registration.cancelAndWait()
          order.record("waited")
          waits.record(wait)
        }
        // Until it waits.
        executor.runUntilIdle()
      }
      await eventually { !registration.isActive }
      if form == .blocking && !isAsynchronous {
        registration.waitUntilWaitedFor { order.count > 0 }
      }
      gate.open()
      asyncGate.open()
      post()
      await eventually {
        executor.runUntilIdle()
        return waits.count > 0
      }
      #expect(waits.values == [.finished])
      #expect(order.values == ["call", "waited"])
    }
  }

  @Test("A queued delivery whose turn comes during a pause is skipped")
  func pauseQueued() {
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) },
      center.observe(Tick.self, on: queue.delivery.buffered(.newest(5))) { [heard] in
        heard.record($0.number)
      },
    ]
    queue.hold()
    center.post(Tick(number: 1))
    tokens.forEach { $0.pause() }
    queue.letGo()
    queue.flush()
    tokens.forEach { $0.resume() }
    center.post(Tick(number: 2))
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [2, 2])
  }

  @Test("Once waits for a delivery that is not paused")
  func pauseOnce() {
    let token = center.observe(Tick.self, options: .once) { [heard] in heard.record($0.number) }
    token.pause()
    center.post(Tick(number: 1))
    #expect(token.isActive)
    token.resume()
    center.post(Tick(number: 2))
    #expect(heard.values == [2])
    #expect(!token.isActive)
  }

  @Test("A registration that has ended answers and does nothing")
  func afterEnd() {
    let token = center.observe(Tick.self) { _ in }
    token.cancel()
    token.pause()
    token.resume()
    #expect(!token.isPaused)
    #expect(!token.isActive)
    #expect(token.cancelAndWait() == .finished)
    #expect(token.registration.droppedCount == 0)
  }

  @Test("Pausing and resuming from many threads comes out even", arguments: [1, 2, 8])
  func pauseRace(width: Int) {
    let token = center.observe(Tick.self) { [heard] in heard.record($0.number) }
    onThreads(width) { [center] number in
      for _ in 0..<200 {
        token.pause()
        center.post(Tick(number: 0))
        token.resume()
      }
    }
    #expect(!token.isPaused)
    let count = heard.count
    center.post(Tick(number: 1))
    withExtendedLifetime(token) {}
    #expect(heard.count == count + 1)
    // Each thread posts with its own pause in force, and so nothing came through.
    #expect(count == 0)
  }

  @Test("K1 A3 G1 Identifiers are not used again: a stale registration ends nobody")
  func stale() {
    let stale = (0..<100).map { _ in center.observe(Tick.self) { _ in } }
    stale.forEach { $0.cancel() }
    let tokens = (0..<100).map { _ in
      center.observe(Tick.self) { [heard] in heard.record($0.number) }
    }
    #expect(stale.allSatisfy { $0.cancel() == .alreadyEnded })
    center.post(Tick(number: 1))
    withExtendedLifetime(tokens) {}
    #expect(heard.count == 100)
  }
}
