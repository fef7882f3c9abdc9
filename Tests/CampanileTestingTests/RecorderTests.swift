import Campanile
import CampanileTesting
import Dispatch
import TestSupport
import Testing

struct Tick: MessageCenter.Message, Equatable { var number: Int }

struct TestError: Error, Equatable {}

/// What `operation` throws, which must be a failure of an expectation.
func failure(of operation: () async throws -> Void) async -> ExpectationFailure? {
  do {
    try await operation()
    return nil
  } catch {
    return error as? ExpectationFailure
  }
}

@Suite("Recorder", .ownThread)
struct RecorderTests {
  private let center = MessageCenter()
  private let ticks = Broadcaster<Int>()
  private let clock = VirtualClock()

  @Test("Records the messages of a type, about a subject, and of every type")
  func messages() async throws {
    final class Player: Sendable {}
    struct Level: MessageCenter.Message, Equatable {
      typealias Subject = Player
      var level: Int
    }
    let player = Player()
    let all = Recorder(observing: center.anyMessage)
    let levels = Recorder(observing: center.messages(of: Level.self, about: player))
    let ticks = Recorder(observing: Tick.self, in: center)
    center.post(Level(level: 1), about: player)
    center.post(Level(level: 2), about: Player())
    center.post(Tick(number: 3))
    #expect(levels.values == [Level(level: 1)])
    #expect(ticks.values == [Tick(number: 3)])
    #expect(all.values.map(\.subject) == [ObjectIdentifier(player), all.values[1].subject, nil])
    #expect(all.count == 3)
    // One order for all recorders: the wildcard observer registered first.
    #expect(all.entries[0].order < levels.entries[0].order)
    #expect(levels.entries[0].order < all.entries[1].order)
  }

  @Test("Records the values of a state, or its changes, with the initial call")
  func states() {
    let volume = CurrentValue(1)
    let values = Recorder(observing: volume, options: .initial)
    let changes = Recorder(observing: volume.changes, options: .initial)
    volume.value = 2
    #expect(values.values == [1, 2])
    #expect(changes.values == [ValueChange(old: nil, new: 1), ValueChange(old: 1, new: 2)])
  }

  @Test("K12 K15 A recorder observes with the buffer and at the place that it is given")
  func forms() {
    let manual = ManualDelivery()
    let line = #line + 1
    let source = Recorder(observing: ticks, on: manual.delivery.buffered(.oldest(1)))
    let messages = Recorder(
      observing: Tick.self, in: center, on: manual.delivery.buffered(.newest(1)))
    for number in 1...3 {
      ticks.send(number)
      center.post(Tick(number: number))
    }
    #expect(manual.runAll() == 2)
    #expect(source.values == [1] && messages.values == [Tick(number: 3)])
    #expect(ticks.registrations.map(\.line) == [line] && ticks.registrations[0].file == #fileID)
    #expect(center.registrations.map(\.line) == [line + 1])
    #expect(center.registrations[0].file == #fileID)
  }

  @Test("A recorder that is released reads no further")
  func releasedReader() async throws {
    let (numbers, feed) = AsyncStream.makeStream(of: Int.self)
    let ended = Recorder<Bool>()
    feed.onTermination = { _ in ended.record(true) }
    var reader: Recorder<Int>? = Recorder(reading: numbers)
    feed.yield(1)
    try await reader?.expect(1, within: patience)
    reader = nil
    try await ended.expect(true, within: patience)
    withExtendedLifetime(feed) {}
  }

  @Test("Records what delegates of a multicast are called with")
  func delegates() {
    final class Delegate: Sendable {
      let calls = Recorder<String>()
      func finished(_ track: String) { calls.record(track) }
    }
    let (delegates, one) = (Multicast<Delegate>(), Delegate())
    delegates.add(one)
    delegates.call { $0.finished("Aria") }
    #expect(one.calls.values == ["Aria"])
  }

  @Test("Stops when told, and when it is released; what is recorded by hand still is")
  func stops() {
    var recorder: Recorder<Int>? = Recorder(observing: ticks)
    ticks.send(1)
    recorder?.stop()
    recorder?.stop()
    ticks.send(2)
    recorder?.record(3)
    #expect(recorder?.values == [1, 3])
    recorder = Recorder(observing: ticks)
    #expect(ticks.observerCount == 1)
    withExtendedLifetime(recorder) {}
    recorder = nil
    #expect(ticks.observerCount == 0)
  }

  @Test("Takes the next values, in order, whether they came before or come later")
  func next() async throws {
    let recorder = Recorder(observing: ticks)
    ticks.send(1)
    async let taken = (
      recorder.next(within: patience), recorder.next(2, within: patience),
      recorder.next(within: patience)
    )
    for number in 2...5 { ticks.send(number) }
    let (one, two, four) = try await taken
    #expect((one, two, four) == (1, [2, 3], 4))
    try await recorder.expect(5)
    try recorder.expectNothingMore()
    #expect(recorder.values == [1, 2, 3, 4, 5])
  }

  @Test("Three of these, then nothing more: met, and not met, with a sentence and a place")
  func expectations() async throws {
    let recorder = Recorder(observing: ticks, clock: clock)
    for number in 1...3 { ticks.send(number) }
    try await recorder.expect(1, 2, 3)
    try recorder.expectNothingMore()

    ticks.send(4)
    let line = #line + 1
    let more = await failure { try recorder.expectNothingMore() }
    #expect(more?.code == .unexpected)
    #expect(more?.message == "Expected nothing more, and 1 value came: [4].")
    #expect(more?.line == line && more?.file.hasSuffix("RecorderTests.swift") == true)
    #expect(more.map { "\($0)" } == "\(more?.file ?? ""):\(line): \(more?.message ?? "")")

    for number in [5, 7, 6] { ticks.send(number) }
    let different = await failure { try await recorder.expect(5, 6, 7) }
    #expect(different?.code == .different)
    #expect(different?.message.hasSuffix("index 1, where 7 came instead of 6.") == true)
    // What failed has been taken.
    try recorder.expectNothingMore()
  }

  @Test("An expectation gives up when its clock says so, and not before")
  func timeout() async throws {
    let recorder = Recorder(observing: ticks, timeout: .seconds(60), clock: clock)
    async let waiting = failure { try await recorder.expect(1, 2) }
    try await clock.waitForSleepers(within: patience)
    ticks.send(1)
    clock.advance(by: .seconds(59))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    let failure = await waiting
    #expect(failure?.code == .timedOut)
    #expect(failure?.message == "Expected 2 values within 60.0 seconds, and only 1 came: [1].")
    ticks.send(2)
    try await recorder.expect(2)
    #expect(clock.sleeperCount == 0)
  }

  @Test("A clock that was advanced before the wait began counts")
  func advancedEarly() async {
    let recorder = Recorder(observing: ticks, timeout: .zero, clock: clock)
    let failure = await failure { try await recorder.next() }
    #expect(failure?.message == "Expected 1 value within 0.0 seconds, and none came.")
  }

  @Test("Nothing for a while: the while passes by the clock, and a value ends it early")
  func nothing() async throws {
    let recorder = Recorder(observing: ticks, clock: clock)
    async let quiet: Void = recorder.expectNothing(for: .seconds(3_600))
    try await clock.waitForSleepers(within: patience)
    clock.advance(by: .seconds(3_600))
    try await quiet

    async let loud = failure { try await recorder.expectNothing(for: .seconds(3_600)) }
    try await clock.waitForSleepers(within: patience)
    ticks.send(9)
    #expect(await loud?.message == "Expected nothing more, and 1 value came: [9].")

    // What has come before ends it at once: the clock stands still.
    ticks.send(10)
    let early = await failure { try await recorder.expectNothing(for: .seconds(3_600)) }
    #expect(early?.message == "Expected nothing more, and 1 value came: [10].")
  }

  @Test("A limit of its own comes before the recorder's")
  func ownLimit() async throws {
    let recorder = Recorder<Int>(timeout: .seconds(60), clock: clock)
    async let waiting = failure { try await recorder.next(within: .seconds(5)) }
    try await clock.waitForSleepers(within: patience)
    clock.advance(by: .seconds(5))
    #expect(await waiting?.message == "Expected 1 value within 5.0 seconds, and none came.")
  }

  @Test("A cancelled task waits for nothing")
  func cancelled() async throws {
    let recorder = Recorder<Int>(clock: clock)
    let task = Task { try await recorder.next() }
    try await clock.waitForSleepers(within: patience)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let late = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try await recorder.expectNothing(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await late.value }
    let reader = Recorder(reading: ticks.values(), clock: clock)
    let end = Task { try await reader.expectEnd() }
    try await clock.waitForSleepers(within: patience)
    end.cancel()
    await #expect(throws: CancellationError.self) { try await end.value }
  }

  @Test("Reads a sequence to its end, or to its error")
  func sequences() async throws {
    let read = Recorder(reading: ticks.values())
    ticks.send(1)
    ticks.send(2)
    try await read.expect(1, 2, within: patience)
    ticks.finish()
    try await read.expectEnd(within: patience)

    let broken = Recorder(
      reading: AsyncThrowingStream<Int, any Error> { $0.finish(throwing: TestError()) })
    let failure = await failure { try await broken.expectEnd(within: patience) }
    #expect(failure?.code == .ended)
    #expect(failure?.message == "Expected the sequence to end, and it threw TestError().")
  }

  @Test("A sequence that goes on has not ended; stopping ends it")
  func endless() async throws {
    let endless = Recorder(reading: ticks.values(), clock: clock)
    async let waiting = failure { try await endless.expectEnd(within: .seconds(1)) }
    try await clock.waitForSleepers(within: patience)
    clock.advance(by: .seconds(1))
    #expect(await waiting?.code == .ended)
    endless.stop()
    try await endless.expectEnd()
  }

  @Test("An empty list of expected values expects nothing")
  func emptyList() async throws {
    let recorder = Recorder<Int>()
    try await recorder.expect([])
    recorder.record(1)
    #expect(await failure { try await recorder.expect([]) }?.code == .unexpected)
  }

  @Test("Knows the queue, the target, the main queue, the actor and the thread")
  func places() async throws {
    let (queue, other) = (DispatchQueue(label: "queue"), DispatchQueue(label: "other"))
    let manual = ManualDelivery()
    let onQueue = Recorder(observing: ticks, on: .queue(queue))
    let onMain = Recorder(observing: ticks, on: .queue(.main))
    let onManual = Recorder(observing: ticks, on: manual.delivery)
    let immediate = Recorder(observing: ticks)
    immediate.recognize(.queue(other))
    queue.suspend()
    other.sync { ticks.send(1) }
    queue.resume()
    manual.runAll()
    try await onQueue.expect(1, within: patience)
    try await onMain.expect(1, within: patience)
    let place = onQueue.entries[0].place
    #expect(place.isOn(.queue(queue)) && !place.isOn(.queue(other)) && !place.isMain)
    #expect(place.description == ".queue(queue)")
    #expect(onMain.entries[0].place.isMain && onMain.entries[0].place.isOn(MainActor.shared))
    #expect(onManual.entries[0].place.isOn(manual.delivery))
    #expect(immediate.entries[0].place.isOn(.queue(other)))
    #expect(!immediate.entries[0].place.isOn(.immediate))
  }

  @Test("Knows the place that it observes on, also one that cannot tell whether code runs there")
  func untoldPlace() {
    let (executor, other) = (ManualExecutor(), ManualExecutor())
    let numbers = Recorder(observing: ticks, on: .executor(executor))
    let messages = Recorder(observing: Tick.self, in: center, on: .executor(executor))
    ticks.send(1)
    center.post(Tick(number: 2))
    executor.runUntilIdle()
    let places = numbers.entries.map(\.place) + messages.entries.map(\.place)
    #expect(places.count == 2)
    for place in places {
      #expect(place.isOn(.executor(executor)) && !place.isOn(.executor(other)))
      #expect(place.description == ".executor(ManualExecutor)")
    }
    // Code that is not called there is not there.
    numbers.record(3)
    #expect(!numbers.entries[1].place.isOn(.executor(executor)))
  }

  @Test("Knows each of the places that code runs on at the same time")
  func nestedPlaces() {
    let (queue, manual) = (DispatchQueue(label: "queue"), ManualDelivery())
    let recorder = Recorder<Int>()
    recorder.recognize(.queue(queue), manual.delivery)
    queue.sync { manual.run { recorder.record(1) } }
    let place = recorder.entries[0].place
    #expect(place.isOn(.queue(queue)) && place.isOn(manual.delivery))
    #expect(place.description == ".queue(queue)")
  }

  @Test("Knows the main queue, also where it was not told of it")
  @MainActor func unknownPlace() async {
    let recorder = Recorder<Int>()
    recorder.record(1)
    #expect(recorder.entries[0].place.isOn(.queue(.main)))
    await Task.detached { recorder.record(2) }.value
    #expect(!recorder.entries[1].place.isOn(.queue(.main)))
  }

  private actor Listener {
    let heard = Recorder<Int>()
    func observe(_ ticks: Broadcaster<Int>) {
      ticks.observe(on: self) { listener, number in
        listener.heard.record(number, on: listener)
      }
    }
  }

  @Test("Knows the actor that it is told")
  func actors() async throws {
    let listener = Listener()
    await listener.observe(ticks)
    ticks.send(1)
    try await listener.heard.expect(1, within: patience)
    #expect(listener.heard.entries[0].place.isOn(listener))
    #expect(!listener.heard.entries[0].place.isOn(Listener()))
  }

  @Test("Keeps what many threads record, each thread's in order", arguments: [2, 8])
  func threads(width: Int) async throws {
    let recorder = Recorder<Int>()
    await withTaskGroup { group in
      for thread in 0..<width {
        group.addTask { for number in 0..<1_000 { recorder.record(thread * 1_000 + number) } }
      }
    }
    let values = try await recorder.next(width * 1_000)
    for thread in 0..<width {
      let own = values.filter { $0 / 1_000 == thread }
      #expect(own == Array(thread * 1_000..<(thread + 1) * 1_000))
    }
    #expect(recorder.entries.map(\.order) == recorder.entries.map(\.order).sorted())
  }

  private final class SlowPlace: DeliveryTarget {
    let mailbox = Mailbox()
    let gate = Gate()
    func enqueue(_ job: DeliveryJob) {}
    var isCurrent: Bool {
      gate.pass()
      return false
    }
  }

  @Test("A value counts when it can be taken, and not before")
  func countsWhenTaken() async throws {
    let (recorder, place) = (Recorder<Int>(), SlowPlace())
    recorder.recognize(.target(place))
    let wait = onThread { recorder.record(1) }
    try await place.gate.reached(within: patience)
    await #expect(throws: ExpectationFailure.self) {
      try await recorder.next(1, within: .milliseconds(50))
    }
    place.gate.open()
    try await recorder.expect(1, within: patience)
    wait()
  }
}
