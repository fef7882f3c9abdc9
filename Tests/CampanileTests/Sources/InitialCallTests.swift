import Campanile
import Testing

@Suite("The initial call", .ownThread)
struct InitialCallTests {
  let heard = Recorder<Int>()

  @Test("K14 An immediate first call is made before observe returns, also if another thread sets")
  func setMeanwhile() {
    let slot = Slot<CurrentValue<Int>>()
    let state = CurrentValue(1)
    let events = state.events.observe { event in
      guard event.kind == .registered else { return }
      // The set is made after the registration and before the initial call.
      onThread { slot.value?.value = 2 }()
    }
    slot.set(state)
    let token = state.observe(options: .initial) { [heard] in heard.record($0) }
    #expect(heard.values == [2])
    state.value = 3
    #expect(heard.values == [2, 3])
    slot.set(nil)
    withExtendedLifetime((token, events)) {}
  }

  @Test(
    "K1 K14 An initial call that waits tells the value at registration, and the changes come after",
    arguments: [Buffering.unbounded, .newest(8)])
  func waiting(buffering: Buffering) async {
    let (state, target) = (CurrentValue(1), ManualTarget())
    let changes = Recorder<String>()
    let token = state.changes.observe(
      on: target.delivery.buffered(buffering), options: .initial
    ) { change in
      changes.record("\(change.old ?? 0) to \(change.new)\(change.isInitial ? ", initial" : "")")
    }
    state.value = 2
    state.value = 3
    target.runJobs()
    state.value = 4
    target.runJobs()
    #expect(changes.values == ["0 to 1, initial", "1 to 2", "2 to 3", "3 to 4"])
    withExtendedLifetime(token) {}
  }

  /// Runs an action when it goes.
  private final class Ending: Sendable {
    let number: Int
    private let action: @Sendable () -> Void
    init(_ number: Int, _ action: @escaping @Sendable () -> Void = {}) {
      self.number = number
      self.action = action
    }
    deinit { action() }
  }

  @Test("K7 A value that was set before the first call can set another one when it goes")
  func leftOut() {
    let slot = Slot<CurrentValue<Ending>>()
    let state = CurrentValue(Ending(1) { slot.value?.value = Ending(4) })
    let events = state.events.observe { event in
      guard event.kind == .registered else { return }
      for number in 2...3 { slot.value!.value = Ending(number) }
    }
    slot.set(state)
    let token = state.observe(options: .initial) { [heard] in heard.record($0.number) }
    #expect(heard.values == [2, 4, 3])
    slot.set(nil)
    withExtendedLifetime((token, events)) {}
  }

  @Test("K14 The initial call of one follower reaches no other on its target")
  func otherFollower() {
    let queue = TestQueue()
    let state = CurrentValue(1)
    let other = state.observe(on: queue.delivery) { [heard] in heard.record($0 * 100) }
    let token = state.observe(on: queue.delivery, options: .initial) { [heard] in
      heard.record($0)
    }
    queue.flush()
    #expect(heard.values == [1])
    state.value = 2
    queue.flush()
    #expect(heard.values == [1, 200, 2])
    withExtendedLifetime((token, other)) {}
  }
}

@Suite("A subject that has gone", .ownThread)
struct GoneSubjectTests {
  let center = MessageCenter()
  let heard = Recorder<Int>()

  @Test(
    "A9 K9 An observer about a subject that has gone since hears nothing, rather than everything")
  func observer() {
    let gone = center.messages(of: LevelChanged.self, about: Player())
    let token = gone.observe { [heard] in heard.record($0.level) }
    let registration = gone.observe(owner: Player()) {
      [heard] _, message in heard.record(message.level)
    }
    center.post(LevelChanged(level: 1), about: Player())
    center.post(LevelChanged(level: 2))
    #expect(heard.values == [])
    withExtendedLifetime((token, registration)) {}
  }
}
