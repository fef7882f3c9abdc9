import Testing

@testable import Campanile

@Suite("Whether a source is observed, as a state", .ownThread)
struct PresenceTests {
  private let heard = Recorder<Bool>()

  @Test("The first observer and the last one are told, and nobody in between")
  func firstAndLast() {
    let ticks = Broadcaster<Int>()
    let token = ticks.isObserved.observe(options: .initial) { [heard] in heard.record($0) }
    let first = ticks.observe { _ in }
    var owner: Room? = Room()
    ticks.observe(owner: owner!) { _, _ in }
    first.cancel()
    #expect(ticks.isObserved.value)
    #expect(heard.values == [false, true])
    owner = nil
    #expect(heard.values == [false, true, false])
    let once = ticks.filter { $0 > 1 }.observe(options: .once) { _ in }
    ticks.send(1)
    ticks.send(2)
    #expect(heard.values == [false, true, false, true, false])
    #expect(ticks.observerCount == 0)
    withExtendedLifetime((token, once)) {}
  }

  @Test("It begins with what is so when it is asked for, and ends with the source")
  func asked() {
    var state: CurrentValue<Int>? = CurrentValue(0)
    let number = state!.map { $0 + 1 }
    let token = number.observe { _ in }
    let isObserved = state!.isObserved
    let told = isObserved.observe(options: .initial) { [heard] in heard.record($0) }
    #expect(heard.values == [true])
    token.cancel()
    #expect(heard.values == [true, false])
    let values = state!.values()
    #expect(heard.values == [true, false, true])
    state!.finish()
    #expect(heard.values == [true, false, true, false])
    withExtendedLifetime((number, values)) {}
    state = nil
    #expect(!isObserved.value)
    withExtendedLifetime(told) {}
  }

  @Test("The last observer is told, too, if the state ends while it tells")
  func endsWhileTelling() {
    let slot = Slot<CurrentValue<Int>>()
    slot.set(CurrentValue(0))
    let told = slot.value!.isObserved.observe { [heard] in heard.record($0) }
    let values = slot.value!.values()
    let token = slot.value!.observe { _ in slot.set(nil) }
    token.pause()
    slot.value!.value = 1
    // The call for what was missed releases the state.
    token.resume()
    #expect(slot.value == nil)
    #expect(heard.values == [true, false])
    withExtendedLifetime((told, values, token)) {}
  }

  @Test("However many come and go, the last that is told is so", arguments: [2, 8])
  func race(width: Int) {
    let ticks = Broadcaster<Int>()
    let token = ticks.isObserved.observe(options: .initial) { [heard] in heard.record($0) }
    onThreads(width) { _ in
      for _ in 0..<300 { ticks.observe { _ in }.cancel() }
    }
    #expect(!ticks.isObserved.value)
    let values = heard.values
    #expect(values.last == false)
    #expect(zip(values, values.dropFirst()).allSatisfy { $0 != $1 })
    withExtendedLifetime(token) {}
  }
}
