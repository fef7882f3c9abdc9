import Testing

@testable import Campanile

@Suite("Broadcaster", .ownThread)
struct BroadcasterTests {
  private let ticks = Broadcaster<Int>()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test("Observers hear each value once, in the order they registered")
  func order() {
    let tokens = (1...3).map { factor in ticks.observe { [heard] in heard.record($0 * factor) } }
    ticks.send(1)
    ticks.send(10)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 2, 3, 10, 20, 30])
  }

  @Test("An event without a value is sent without one")
  func nothing() {
    let bell = Broadcaster<Void>()
    let token = bell.observe { [heard] in heard.record(1) }
    bell.send()
    #expect(heard.values == [1])
    withExtendedLifetime(token) {}
  }

  @Test("Every form of observing")
  func forms() async throws {
    let screen = Screen()
    let statistics = Statistics()
    let tokens = [
      ticks.observe { [heard] in heard.record($0) },
      ticks.observe(on: queue.delivery) { [heard] in heard.record($0 * 10) },
      ticks.observe(on: .main) { [heard] in
        MainActor.assertIsolated()
        heard.record($0 * 100)
      },
      ticks.observeAsync { [heard] in heard.record($0 * 1_000) },
    ]
    ticks.observe(owner: screen) { $0.heard.record($1) }
    ticks.observe(owner: screen, on: queue.delivery) { $0.heard.record($1 * 10) }
    ticks.observe(owner: screen, on: .main) { $0.heard.record($1 * 100) }
    ticks.observe(on: statistics) { $0.append($1) }
    try await ticks.sendAndWait(1)
    withExtendedLifetime(tokens) {}
    #expect(Set(heard.values) == [1, 10, 100, 1_000])
    #expect(Set(screen.heard.values) == [1, 10, 100])
    #expect(await statistics.numbers == [1])
  }

  @Test("After finish() nothing is sent, observed or counted")
  func finish() {
    let token = ticks.observe { [heard] in heard.record($0) }
    let screen = Screen()
    ticks.observe(owner: screen) { $0.heard.record($1) }
    ticks.finish()
    ticks.send(1)
    let late = ticks.observe { [heard] in heard.record($0) }
    let lateOwned = ticks.observe(owner: screen) { $0.heard.record($1) }
    ticks.send(2)
    ticks.finish()
    #expect(heard.values.isEmpty)
    #expect(screen.heard.values.isEmpty)
    #expect(!token.isActive)
    #expect(!late.isActive)
    #expect(!lateOwned.isActive)
    #expect(late.cancel() == .alreadyEnded)
    #expect(ticks.observerCount == 0)
  }

  @Test("What is queued when the broadcaster finishes is not delivered")
  func finishQueued() {
    let token = ticks.observe(on: queue.delivery) { [heard] in heard.record($0) }
    queue.hold()
    ticks.send(1)
    ticks.finish()
    queue.letGo()
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values.isEmpty)
  }

  @Test("The sequences of a finished broadcaster end after what had gathered")
  func finishSequences() async throws {
    let gathered = ticks.values()
    ticks.send(1)
    ticks.finish()
    let read = Recorder(reading: gathered)
    try await read.expect(1, within: patience)
    try await read.expectEnd(within: patience)
  }

  @Test("finish() inside an observer skips those that come after it")
  func finishInside() {
    let tokens = (0..<3).map { index in
      ticks.observe { [ticks, heard] _ in
        heard.record(index)
        if index == 1 { ticks.finish() }
      }
    }
    ticks.send(1)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [0, 1])
  }

  @Test("The end of the broadcaster ends its observations and releases what they captured")
  func released() {
    let live = LiveCount()
    let token: ObservationToken
    do {
      let ticks = Broadcaster<Int>()
      token = ticks.observe { [tracked = Tracked(live)] _ in tracked.touch() }
      ticks.send(1)
      #expect(live.current == 1)
      withExtendedLifetime(ticks) {}
    }
    #expect(!token.isActive)
    #expect(live.current == 0)
  }

  @Test("Removal by owner ends what that owner bounds")
  func removeByOwner() {
    let (screen, other) = (Screen(), Screen())
    for owner in [screen, other] {
      ticks.observe(owner: owner) { $0.heard.record($1) }
      ticks.observe(owner: owner, on: queue.delivery) { $0.heard.record($1 * 10) }
    }
    ticks.removeObservers(ownedBy: screen)
    ticks.send(1)
    queue.flush()
    #expect(screen.heard.values.isEmpty)
    #expect(other.heard.values.sorted() == [1, 10])
    #expect(ticks.observerCount == 2)
    withExtendedLifetime((screen, other)) {}
  }

  @Test("A read-only view can be observed")
  func view() {
    let source = Source()
    let token = source.finished.observe { [heard] in heard.record($0) }
    let once = source.finished.observe(.once) { [heard] in heard.record($0 * 10) }
    source.finish(7)
    source.finish(8)
    withExtendedLifetime((token, once)) {}
    #expect(heard.values == [7, 70, 8])
  }

  @Test("Values that are functions, optionals and tuples in a struct are sent")
  func values() {
    let optional = Broadcaster<Int?>()
    let token = optional.observe { [heard] in heard.record($0 ?? -1) }
    optional.send(nil)
    optional.send(1)
    let functions = Broadcaster<@Sendable () -> Void>()
    let other = functions.observe { $0() }
    functions.send { [heard] in heard.record(2) }
    withExtendedLifetime((token, other)) {}
    #expect(heard.values == [-1, 1, 2])
  }

  @Test("Once is once, also when many threads send", arguments: [1, 2, 8])
  func once(width: Int) {
    for _ in 0..<50 {
      let (ticks, heard, queued) = (Broadcaster<Int>(), Recorder<Int>(), Recorder<Int>())
      let screen = Screen()
      let tokens = [
        ticks.observe(.once) { heard.record($0) },
        ticks.observe(on: queue.delivery, .once) { queued.record($0) },
      ]
      let owned = ticks.observe(owner: screen, .once) { $0.heard.record($1) }
      onThreads(width) { ticks.send($0) }
      queue.flush()
      #expect(heard.count == 1)
      #expect(queued.count == 1)
      #expect(screen.heard.count == 1)
      #expect(ticks.observerCount == 0)
      #expect(!owned.isActive)
      withExtendedLifetime(tokens) {}
    }
  }

  @Test("Once, a nested send does not call the observer again")
  func onceNested() {
    let token = ticks.observe(.once) { [ticks, heard] in
      heard.record($0)
      ticks.send($0 + 1)
    }
    ticks.send(1)
    #expect(heard.values == [1])
    #expect(!token.isActive)
  }

  @Test("Sends of many threads all arrive", arguments: [1, 2, 8])
  func threads(width: Int) {
    let tokens = [
      ticks.observe { [heard] in heard.record($0) },
      ticks.observe(on: queue.delivery) { [heard] in heard.record($0) },
    ]
    onThreads(width) { [ticks] thread in
      for number in 0..<200 { ticks.send(thread * 1_000 + number) }
    }
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.count == 2 * width * 200)
    #expect(Set(heard.values).count == width * 200)
  }
}

private final class Source: Sendable {
  private let broadcaster = Broadcaster<Int>()
  var finished: Signal<Int> { broadcaster.signal }
  func finish(_ number: Int) { broadcaster.send(number) }
}
