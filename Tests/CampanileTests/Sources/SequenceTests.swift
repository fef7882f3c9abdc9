import Testing

@testable import Campanile
@testable import CampanileFoundation

@Suite("Sequences", .ownThread)
struct SequenceTests {
  private let center = MessageCenter()

  @Test("A sequence hears from the moment it is made, before the first next()")
  func hearsAtOnce() async {
    let messages = center.messages(of: Tick.self).values()
    center.post(Tick(number: 1))
    var iterator = messages.makeAsyncIterator()
    center.post(Tick(number: 2))
    #expect(await iterator.next(isolation: nil)?.number == 1)
    #expect(await iterator.next(isolation: nil)?.number == 2)
  }

  @Test("I A sequence has one buffer: another loop goes on where the first one ended")
  func anotherLoop() async {
    let messages = center.messages(of: Tick.self).values()
    for number in 1...3 { center.post(Tick(number: number)) }
    for await tick in messages {
      #expect(tick.number == 1)
      break
    }
    center.finish()
    #expect(await all(messages).map(\.number) == [2, 3])
  }

  @Test("Readers in many tasks hear everything in order", arguments: [1, 2, 8])
  func tasks(width: Int) async {
    let readers = (0..<width).map { _ in center.messages(of: Tick.self).values() }
    await withTaskGroup(of: [Int].self) { group in
      for messages in readers {
        group.addTask {
          var numbers: [Int] = []
          for await tick in messages {
            numbers.append(tick.number)
            if numbers.count == 200 { break }
          }
          return numbers
        }
      }
      for number in 0..<200 { center.post(Tick(number: number)) }
      for await numbers in group { #expect(numbers == Array(0..<200)) }
    }
  }

  @Test("A9 A sequence about a dead subject hears nothing, and the end of the center ends it")
  func deadSubject() async {
    var center: MessageCenter? = MessageCenter()
    func messagesAboutNobody() -> (some AsyncSequence<LevelChanged, Never> & Sendable)? {
      center?.messages(of: LevelChanged.self, about: Player()).values()
    }
    let messages = messagesAboutNobody()!
    for level in 0..<50 {
      center?.post(LevelChanged(level: level))
      center?.post(LevelChanged(level: level), about: Player())
    }
    center = nil
    #expect(await all(messages).isEmpty)
  }

  @Test("K12 K15 What a sequence dropped, and what waits, shows in the center's list")
  func counted() async throws {
    let line: UInt = #line + 1
    let messages = center.messages(of: Tick.self).values(
      buffering: .newest(2), file: "F", line: line)
    let player = Player()
    let about = center.messages(of: LevelChanged.self, about: player).values(buffering: .oldest(1))
    let any = center.anyMessage.values(buffering: .newest(1))
    func counts() -> [[Int]] {
      center.registrations.map { [$0.waitingCount, $0.droppedCount] }
    }
    #expect(counts() == [[0, 0], [0, 0], [0, 0]])
    for number in 0..<5 { center.post(Tick(number: number)) }
    for level in 0..<3 { center.post(LevelChanged(level: level), about: player) }
    #expect(counts() == [[2, 3], [1, 2], [1, 7]])
    let registrations = [messages.registration, about.registration, any.registration]
    #expect(registrations == center.registrations.map(\.registration))
    #expect(registrations.map { $0.waitingCount } == [2, 1, 1])
    #expect(registrations.map { $0.droppedCount } == [3, 2, 7])
    #expect(
      center.registrations[0].description
        == "Tick, on a sequence, 2 waiting, 3 dropped (F:\(line))")
    var iterator = messages.makeAsyncIterator()
    _ = await iterator.next()
    #expect(counts() == [[1, 3], [1, 2], [1, 7]])
    messages.registration.cancel()
    #expect(messages.registration.waitingCount == 0)
    #expect(messages.registration.droppedCount == 3)
    withExtendedLifetime((about, any, iterator)) {}
  }

  @Test(
    "A9 In a task that is cancelled already a sequence ends at once, whatever has gathered",
    arguments: [0, 3])
  func cancelledBefore(gathered: Int) async {
    let messages = center.messages(of: Tick.self).values()
    for number in 0..<gathered { center.post(Tick(number: number)) }
    let gate = AsyncGate()
    let task = Task {
      await gate.pass()
      var count = 0
      for await _ in messages { count += 1 }
      return count
    }
    await gate.waitUntilReached()
    task.cancel()
    gate.open()
    #expect(await task.value == 0)
  }

  @Test("Cancelling the task ends the wait")
  func cancelledWaiting() async {
    let messages = center.messages(of: Tick.self).values()
    let inbox = Inbox<Int>()
    let task = Task {
      for await tick in messages { inbox.record(tick.number) }
    }
    center.post(Tick(number: 1))
    _ = await inbox.values(count: 1)
    task.cancel()
    await task.value
    center.post(Tick(number: 2))
    #expect(inbox.values == [1])
  }

  @Test(
    "K16 What has gathered goes when the task that reads is canceled",
    arguments: [Buffering.unbounded, .newest(8)], [0, 1])
  func canceledKeepsNothing(buffering: Buffering, readBefore: Int) async {
    let (source, live, gate) = (Broadcaster<Tracked>(), LiveCount(), AsyncGate())
    let values = source.values(buffering: buffering)
    for _ in 0..<3 { source.send(Tracked(live)) }
    #expect(live.current == 3)
    let task = Task {
      var iterator = values.makeAsyncIterator()
      for _ in 0..<readBefore { #expect(await iterator.next() != nil) }
      #expect(live.current == 3 - readBefore)
      await gate.pass()
      #expect(await iterator.next() == nil)
      #expect(live.current == 0)
      withExtendedLifetime(iterator) {}
    }
    await gate.waitUntilReached()
    task.cancel()
    gate.open()
    await task.value
  }

  @Test(
    "K7 What has gathered is released where the sequence is read, not by who cancels the task",
    arguments: [Buffering.unbounded, .newest(8)])
  func releasedByReader(buffering: Buffering) async {
    let (source, live, executor) = (Broadcaster<Tracked>(), LiveCount(), ManualExecutor())
    let values = source.values(buffering: buffering)
    let task = Task(executorPreference: executor) {
      for await _ in values {}
    }
    executor.runUntilIdle()
    source.send(Tracked(live))
    task.cancel()
    #expect(live.current == 1)
    executor.runUntilIdle()
    #expect(live.current == 0)
    await task.value
  }

  @Test("K12 what comes after the end of a sequence is not counted as dropped")
  func afterTheEnd() {
    let buffer = SequenceBuffer(.oldest(1))
    for number in 0..<3 { buffer.append(number) }
    buffer.finish()
    buffer.append(3)
    #expect(buffer.counts.counters.droppedCount == 2)
  }

  @Test("The end of the center ends a reader that waits")
  func centerEndsWhileWaiting() async {
    let slot = Slot<MessageCenter>()
    slot.set(MessageCenter())
    let messages = slot.value!.messages(of: Tick.self).values()
    let inbox = Inbox<Int>()
    let task = Task {
      for await tick in messages { inbox.record(tick.number) }
    }
    slot.value?.post(Tick(number: 1))
    _ = await inbox.values(count: 1)
    slot.set(nil)
    await task.value
    #expect(inbox.values == [1])
  }

  @Test("A sequence does not keep the center, and releasing it ends its observation")
  func released() {
    weak var weakCenter: MessageCenter?
    do {
      let center = MessageCenter()
      weakCenter = center
      let messages = center.messages(of: Tick.self).values()
      #expect(center.observerCount == 1)
      withExtendedLifetime(messages) {}
    }
    #expect(weakCenter == nil)
    do {
      let messages = center.messages(of: Tick.self).values()
      withExtendedLifetime(messages) { #expect(center.observerCount == 1) }
    }
    #expect(center.observerCount == 0)
  }

  @Test("Two tasks that read one sequence at a time are a precondition failure")
  func twoTasks() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let buffer = SequenceBuffer(.unbounded)
        async let one: Int? = buffer.next()
        async let other: Int? = buffer.next()
        _ = await (one, other)
      },
      says: "Two tasks asked one sequence")
  }

  @Test("A sequence of one value observes no more once it has that value")
  func once() async {
    let (ticks, state) = (Broadcaster<Int>(), CurrentValue(1))
    let keyed = KeyedCenter<Int>()
    let first = ticks.values(options: .once)
    let both = [state.values(options: .once), state.values(options: [.once, .initial])]
    let buffer = SequenceBuffer(.unbounded)
    var request = ObservationRequest()
    request.options.isOnce = true
    let wildcard = keyed.register(
      request, ObserverBody(filling: buffer) { buffer.append($0) }, of: nil, about: .none)
    #expect(state.observerCount == 1)
    for number in 2..<4 {
      ticks.send(number)
      state.value = number
      keyed.post(to: "key", about: nil) { number }
    }
    #expect(ticks.observerCount == 0)
    #expect(state.observerCount == 0)
    #expect(!wildcard.isActive)
    #expect(await all(first) == [2])
    #expect(await all(both[0]) == [2])
    #expect(await all(both[1]) == [1])
    #expect(await buffer.next() == 2)
    #expect(await buffer.next() == Int?.none)
  }

  @Test("K14 A sequence of changes knows what its reader has read, whatever its buffer has dropped")
  func changesOfDropped() async {
    let state = CurrentValue(1)
    let sequences = [
      state.changes.values(buffering: .newest(1)),
      state.changes.values(buffering: .newest(1), options: .initial),
    ]
    for value in 2...4 { state.value = value }
    var readers = sequences.map { $0.makeAsyncIterator() }
    #expect(await readers[0].next() == ValueChange(old: 1, new: 4))
    #expect(await readers[1].next() == ValueChange(old: nil, new: 4))
    for value in 5...6 { state.value = value }
    for index in readers.indices {
      #expect(await readers[index].next() == ValueChange(old: 4, new: 6))
    }
  }
}
