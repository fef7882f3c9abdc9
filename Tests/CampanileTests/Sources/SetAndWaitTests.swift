import Testing

@testable import Campanile

@Suite("K10 K14: a set that waits", .ownThread)
struct SetAndWaitTests {
  private let state = CurrentValue(0)
  private let heard = Recorder<Int>()

  @Test("It returns when every follower has been called, wherever it runs")
  func everywhere() async throws {
    let (queue, statistics) = (TestQueue(), Statistics())
    let tokens = [
      state.observe { [heard] in heard.record($0) },
      state.observe(on: queue.delivery) { [heard] in heard.record(10 + $0) },
      state.observe(on: queue.delivery.buffered(.newest(1))) { [heard] in
        heard.record(20 + $0)
      },
      state.observeAsync { [heard] value in
        await Task.yield()
        heard.record(30 + value)
      },
      state.observe(on: .main) { [heard] in heard.record(40 + $0) },
    ]
    state.observe(on: statistics) { [heard] _, value in heard.record(50 + value) }
    try await state.setAndWait(1)
    #expect(heard.values.sorted() == [1, 11, 21, 31, 41, 51])
    try await state.setAndWait(2)
    #expect(heard.values.dropFirst(6).sorted() == [2, 12, 22, 32, 42, 52])
    withExtendedLifetime((tokens, statistics)) {}
  }

  @Test("Without followers it stores the value and returns")
  func unheard() async throws {
    try await state.setAndWait(1)
    #expect(state.value == 1)
  }

  @Test("During a delivery of another thread it waits until that thread has delivered it")
  func serialized() async throws {
    let gate = Gate()
    let token = state.observe { [heard] value in
      if value == 1 { gate.pass() }
      heard.record(value)
    }
    let done = onThread { [state] in state.value = 1 }
    gate.waitUntilReached()
    let returned = Recorder<Bool>()
    let set = Task { [state] in
      try await state.setAndWait(2)
      returned.record(true)
    }
    while state.value != 2 { await Task.yield() }
    for _ in 0..<1_000 { await Task.yield() }
    #expect(returned.count == 0)
    #expect(heard.values.isEmpty)
    gate.open()
    try await set.value
    #expect(heard.values == [1, 2])
    done()
    withExtendedLifetime(token) {}
  }

  @Test("A change that is not delivered keeps nobody waiting")
  func undelivered() async throws {
    let gate = Gate()
    let token = state.observe { [state] value in
      if value == 1 { gate.pass() }
      if value == 1 { state.finish() }
    }
    let paused = state.observe { _ in }
    paused.pause()
    let done = onThread { [state] in state.value = 1 }
    gate.waitUntilReached()
    async let set: Void = state.setAndWait(2)
    while state.value != 2 { await Task.yield() }
    gate.open()
    try await set
    done()
    withExtendedLifetime((token, paused)) {}
  }

  @Test("In an asynchronous follower it does not wait for that follower")
  func inside() async throws {
    let token = state.observeAsync { [state, heard] value in
      if value == 1 { try await state.setAndWait(2) }
      heard.record(value)
    }
    try await state.setAndWait(1)
    #expect(await heard.values(count: 2) == [1, 2])
    withExtendedLifetime(token) {}
  }

  @Test("In an asynchronous follower it does not wait for it, if another thread is notifying")
  func insideWhileOtherThreadNotifies() async {
    let gate = Gate()
    let tokens = [
      state.observeAsync { [state, heard] value in
        if value == 1 {
          async let set: Void = state.setAndWait(2)
          while state.value != 2 { await Task.yield() }
          gate.open()
          try await set
        }
        heard.record(value)
      },
      // Until the gate is open, the thread that has set 1 is notifying.
      state.observe { if $0 == 1 { gate.pass() } },
    ]
    let done = onThread { [state] in state.value = 1 }
    #expect(await heard.values(count: 2) == [1, 2])
    done()
    withExtendedLifetime(tokens) {}
  }

  @Test("It waits for an asynchronous follower whose call is notifying")
  func notifiedByTheFollower() async throws {
    let (isSet, gate) = (AsyncGate(), Gate())
    let tokens = [
      state.observeAsync { [state, heard] value in
        if value == 1 {
          await isSet.pass()
          state.value = 2
        }
        heard.record(value)
      },
      state.observe { if $0 == 2 { gate.pass() } },
    ]
    state.value = 1
    isSet.open()
    gate.waitUntilReached()
    async let set: Void = state.setAndWait(3)
    while state.value != 3 { await Task.yield() }
    gate.open()
    try await set
    #expect(heard.values == [1, 2, 3])
    withExtendedLifetime(tokens) {}
  }
}
