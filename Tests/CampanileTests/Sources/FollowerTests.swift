import Testing

@testable import Campanile

@Suite("K14: initial calls that are late, skipped, dropped or overtaken", .ownThread)
struct FollowerTests {
  private let state = CurrentValue(1)
  private let heard = Recorder<Int>()

  @Test(
    "K14 a concurrent follower of one call is called once, however many changes come before it ends"
  )
  func onceConcurrently() async throws {
    let gate = AsyncGate()
    let token = state.observeAsync(execution: .concurrent, options: .once) { [heard] in
      await gate.pass()
      heard.record($0.new)
    }
    for number in 2...9 { state.value = number }
    try await gate.reached(within: patience)
    gate.open()
    _ = await token.cancelAndWait()
    #expect(heard.count == 1)
  }

  @Test(
    "K16 an asynchronous follower of one call whose task cancels itself has had its call",
    arguments: [AsyncExecution.oneAtATime, .concurrent])
  func onceCancelsItself(execution: AsyncExecution) async throws {
    let released = Recorder<Int>()
    let token = state.observeAsync(execution: execution, options: .once) {
      [held = OnRelease { released.record(1) }] _ in
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try withExtendedLifetime(held) { try Task.checkCancellation() }
    }
    state.value = 2
    #expect(try await released.next(1, within: patience) == [1])
    #expect(state.observerCount == 0)
    withExtendedLifetime(token) {}
  }

  @Test(
    "K14 a concurrent follower has its calls side by side after the initial call", arguments: 1...8)
  func concurrently(attempt: Int) async throws {
    let (initial, later) = (AsyncGate(), AsyncGate())
    let token = state.observeAsync(execution: .concurrent, options: .initial) { [heard] change in
      await (change.isInitial ? initial : later).pass()
      heard.record(change.new)
    }
    try await initial.reached(within: patience)
    state.value = 2
    initial.open()
    try await later.reached(within: patience)
    state.value = 3
    try await later.reached(by: 2, within: patience)
    later.open()
    #expect(Set(try await heard.next(3, within: patience)) == [1, 2, 3])
    withExtendedLifetime(token) {}
  }

  @Test("K13 an asynchronous follower that cancels its task in its initial call hears what follows")
  func initialCancelsItself() async throws {
    let gate = AsyncGate()
    let token = state.observeAsync(options: .initial) { [heard] change in
      heard.record(change.new)
      if !change.isInitial { return }
      await gate.pass()
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try Task.checkCancellation()
    }
    try await gate.reached(within: patience)
    state.value = 2
    gate.open()
    #expect(try await heard.next(2, within: patience) == [1, 2])
    state.value = 3
    #expect(try await heard.next(1, within: patience) == [3])
    withExtendedLifetime(token) {}
  }

  @Test(
    "K14 a request that is missed after the initial call takes no change with it",
    arguments: [true, false])
  func lateRequest(isMissed: Bool) {
    let (target, slot) = (ManualTarget(), Slot<ObservationToken>())
    // Its job comes before that of the request.
    let events = state.events.observe { [state] in
      if $0.kind == .registered { state.value = 2 }
    }
    let olds = Recorder<Int?>()
    let token = state.observe(on: target.delivery, options: .initial) { [heard] in
      heard.record($0.new)
      olds.record($0.old)
      if $0.isInitial { slot.value?.pause() }
    }
    slot.set(token)
    target.runJobs()
    #expect(heard.values == [2])
    state.value = 3
    if isMissed { target.runJobs() }
    token.resume()
    target.runJobs()
    #expect(heard.values == [2, 3])
    state.value = 4
    target.runJobs()
    #expect(heard.values == [2, 3, 4])
    #expect(olds.values == [nil, 2, 3])
    withExtendedLifetime(events) {}
    slot.set(nil)
  }

  @Test("K14 a follower that resumes before its request is known to be skipped is called")
  func resumedEarly() {
    let paused = Slot<Registration>()
    let events = state.events.observe { [state] event in
      if event.kind == .registered {
        event.registration?.pause()
        paused.set(event.registration)
      } else if event.kind == .skipped, let registration = paused.value {
        paused.set(nil)
        state.value = 2
        registration.resume()
      }
    }
    let token = state.observe(options: .initial) { [heard] in heard.record($0.new) }
    #expect(heard.values == [2])
    state.value = 3
    #expect(heard.values == [2, 3])
    withExtendedLifetime((events, token)) {}
  }

  @Test("K14 nor while it is paused there, but when it resumes")
  func pausedInside() {
    let token = state.observe(options: .initial) { [state, heard] change in
      heard.record(change.new)
      if change.isInitial {
        state.value = 2
        state.registrations.first?.registration.pause()
      }
    }
    #expect(heard.values == [1])
    token.resume()
    #expect(heard.values == [1, 2])
    state.value = 3
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, 2, 3])
  }

  @Test("K14 nor after the value finished there, nor where it wanted one call")
  func finished() {
    let once = state.observe(options: [.initial, .once]) { [state, heard] change in
      heard.record(change.new)
      if change.isInitial { state.value = 2 }
    }
    #expect(heard.values == [1])
    let token = state.observe(options: .initial) { [state, heard] change in
      heard.record(change.new)
      if change.isInitial {
        state.value = 3
        state.finish()
      }
    }
    withExtendedLifetime((once, token)) {}
    #expect(heard.values == [1, 2])
  }

  @Test("K14 a concurrent follower that is ended in its initial call is not told what waited")
  func endedAsync() async {
    let gate = AsyncGate()
    let inbox = Inbox<Int>()
    let token = state.observeAsync(execution: .concurrent, options: .initial) { change in
      inbox.record(change.new)
      await gate.pass()
    }
    await gate.waitUntilReached()
    state.value = 2
    token.cancel()
    gate.open()
    _ = await token.cancelAndWait()
    #expect(inbox.values == [1])
  }

  @Test("K14 an error in the initial call does not keep the changes")
  func failing() {
    let state = CurrentValue(1)
    let failures = Recorder(observing: state.failures)
    let token = state.observe(options: .initial) { [heard] change in
      heard.record(change.new)
      throw TestFailure()
    }
    state.value = 2
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, 2])
    #expect(failures.count == 2)
  }
}
