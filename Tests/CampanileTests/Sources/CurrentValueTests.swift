import Testing

@testable import Campanile

@Suite("K14: current values", .ownThread)
struct CurrentValueTests {
  private let state = CurrentValue(0)
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test("An update copies nothing, unless an observer keeps the value that it knows")
  func updatedInPlace() {
    final class Box: Sendable {}
    let state = CurrentValue(Box())
    func isInPlace() -> Bool {
      defer { queue.flush() }
      return state.update { isKnownUniquelyReferenced(&$0) }
    }
    #expect(isInPlace())
    let tokens = [
      state.observe { _ in }, state.observe(options: .initial) { _ in },
      state.map { _ in 0 }.observe { _ in },
      state.observe(on: queue.delivery.buffered(.newest(1))) { _ in },
    ]
    #expect(isInPlace())
    #expect(isInPlace())
    let knowing = state.changes.observe { _ in }
    #expect(!isInPlace())
    knowing.cancel()
    #expect(isInPlace())
    let pair = state.combined(with: CurrentValue(0)).observe { _ in }
    #expect(!isInPlace())
    withExtendedLifetime((tokens, pair)) {}
  }

  @Test("A wrapped property is a state, and its projection the read-only view")
  func wrapped() {
    final class Player {
      @CurrentValue private(set) var level = 1
      func play() { level += 1 }
    }
    let player = Player()
    let token = player.$level.observe(options: .initial) { [heard] in heard.record($0) }
    player.play()
    #expect((player.level, player.$level.value) == (2, 2))
    #expect(heard.values == [1, 2])
    withExtendedLifetime(token) {}
  }

  @Test("A change can be made for the test of an observer")
  func madeChange() {
    let change = ValueChange(old: 1, new: 2)
    #expect((change.old, change.new, change.isInitial) == (1, 2, false))
    #expect(ValueChange(old: nil, new: 2).isInitial)
    #expect(change == ValueChange(old: 1, new: 2))
    #expect(change != ValueChange(old: 0, new: 2))
  }

  @Test("Updates that use other states in one direction wait for each other", arguments: [2, 8])
  func nestedUpdates(width: Int) {
    let states = [state, CurrentValue(0), CurrentValue(0)]
    let token = states[2].observe { _ in }
    onThreads(width) { thread in
      for number in 0..<1_000 {
        states[0].update { value in
          value += 1
          states[1].update { $0 += states[2].value >= 0 ? 1 : 2 }
          if number % 3 == 0 { states[2].value = number }
        }
        states[1].update { value in
          if thread % 2 == 0 { states[2].update { $0 += 1 } } else { states[2].value = 0 }
          value += 1
        }
      }
    }
    withExtendedLifetime(token) {}
    #expect(states[0].value == width * 1_000)
    #expect(states[1].value == width * 2_000)
  }

  @Test("K14 an observer receives the values, and of the changes also what it knew before")
  func oldAndNew() {
    let changes = Recorder<ValueChange<Int>>()
    let tokens = [
      state.observe { [heard] in heard.record($0) },
      state.changes.observe { changes.record($0) },
    ]
    state.value = 1
    state.value = 5
    state.update { $0 += 1 }
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 5, 6])
    #expect(changes.values.map(\.old) == [0, 1, 5])
    #expect(changes.values.map(\.new) == [1, 5, 6])
    #expect(changes.values.allSatisfy { !$0.isInitial })
  }

  @Test("K14 setting an equal value is a change, which distinct leaves out")
  func distinct() {
    let others = Recorder<Int>()
    let tokens = [
      state.observe { [heard] in heard.record($0) },
      state.observe(options: .distinct) { others.record($0) },
    ]
    for value in [0, 1, 1, 2, 1, 1] { state.value = value }
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [0, 1, 1, 2, 1, 1])
    #expect(others.values == [1, 2, 1])
  }

  @Test("K14 G5 the initial call comes first, marked, before observe returns")
  func initial() {
    state.value = 3
    let changes = Recorder<ValueChange<Int>>()
    let token = state.changes.observe(options: .initial) { changes.record($0) }
    #expect(changes.values.map(\.new) == [3])
    #expect(changes.values.first?.isInitial == true)
    #expect(changes.values.first?.old == nil)
    state.value = 4
    withExtendedLifetime(token) {}
    #expect(changes.values.map(\.new) == [3, 4])
    #expect(changes.values.last?.old == 3)
  }

  @Test("K14 changes wait until the initial call has returned")
  func changesWait() {
    let gate = Gate()
    let overlap = OverlapDetector()
    let token = Slot<ObservationToken>()
    let done = onThread { [state, heard] in
      token.set(
        state.changes.observe(options: .initial) { change in
          overlap.run {
            if change.isInitial { gate.pass() }
            heard.record(change.new)
          }
        })
    }
    gate.waitUntilReached()
    state.value = 1
    state.value = 2
    #expect(heard.values.isEmpty)
    gate.open()
    done()
    #expect(heard.values == [0, 1, 2])
    #expect(!overlap.hasOverlapped)
    withExtendedLifetime(token) {}
  }

  @Test("K14 once and distinct wait for the first change that differs")
  func onceDistinct() {
    let token = state.observe(options: [.once, .distinct]) { [heard] in heard.record($0) }
    for value in [0, 0, 1, 2] { state.value = value }
    #expect(heard.values == [1])
    #expect(!token.isActive)
  }

  @Test("K14 a set inside a follower stores, returns, and is told next to all")
  func setInside() {
    let others = Recorder<Int>()
    let tokens = [
      state.observe { [state, heard] value in
        if value < 3 { state.value = value + 1 }
        heard.record(value)
        #expect(state.value >= value)
      },
      state.observe { others.record($0) },
    ]
    state.value = 1
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 2, 3])
    #expect(others.values == [1, 2, 3])
  }

  @Test("K14 a set made while another thread tells returns at once and is told by that thread")
  func serialized() {
    let gate = Gate()
    let overlap = OverlapDetector()
    let token = state.observe { [heard] value in
      overlap.run {
        if value == 1 { gate.pass() }
        heard.record(value)
      }
    }
    let done = onThread { [state] in state.value = 1 }
    gate.waitUntilReached()
    state.value = 2
    #expect(state.value == 2)
    #expect(heard.values.isEmpty)
    gate.open()
    done()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, 2])
    #expect(!overlap.hasOverlapped)
  }

  @Test("update returns what the closure returns, and passes on what it throws")
  func update() {
    let token = state.observe { [heard] in heard.record($0) }
    let old = state.update { value in
      defer { value = 5 }
      return value
    }
    #expect(old == 0)
    #expect(throws: TestFailure.self) {
      try state.update { value in
        value = 6
        throw TestFailure()
      }
    }
    withExtendedLifetime(token) {}
    #expect(heard.values == [5, 6])
    #expect(state.value == 6)
  }

  @Test("K14 nor is it lost if another thread delivers, in a combined state either")
  func finishDuringDeliveryElsewhere() async throws {
    let other = CurrentValue(0)
    let both = state.combined(with: other)
    let (values, pairs) = (state.values(), both.values())
    let inside = Gate()
    let token = both.observe { [heard] pair in
      heard.record(pair.0 + pair.1)
      inside.pass()
    }
    let first = onThread { [state] in state.value = 1 }
    inside.waitUntilReached()
    state.value = 2
    other.value = 10
    state.finish()
    other.finish()
    #expect(!state.observe { _ in }.isActive)
    inside.open()
    first()
    let read = Recorder(reading: values)
    try await read.expect(1, within: patience)
    try await read.expect(2, within: patience)
    try await read.expectEnd(within: patience)
    let last = Recorder(reading: pairs.map { $0.0 * 100 + $0.1 })
    for value in [100, 110, 210] { try await last.expect(value, within: patience) }
    try await last.expectEnd(within: patience)
    #expect(!token.isActive)
  }

  @Test("The old value is released once the followers have been told")
  func released() {
    let live = LiveCount()
    let state = CurrentValue(Tracked(live))
    let token = state.observe { _ in }
    for _ in 0..<5 { state.value = Tracked(live) }
    #expect(live.current == 1)
    token.cancel()
    state.value = Tracked(live)
    #expect(live.current == 1)
  }
}
