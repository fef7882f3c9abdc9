import Dispatch
import Testing

@testable import Campanile

@Suite("Registering and ending", .ownThread)
struct RegistrationTests {
  @Test(
    "K1 D1 G3 Two registrations of one closure are two, and every later post hears both",
    arguments: widths)
  func twice(width: Int) {
    let source = Broadcaster<Int>()
    let calls = LiveCount()
    let closure: @Sendable (Int) -> Void = { _ in calls.increment() }
    onThreads(width) { _ in
      let first = source.observe { closure($0) }
      let second = source.observe { closure($0) }
      #expect(first.registration != second.registration)
      #expect(Set([first.registration, second.registration, first.registration]).count == 2)
      first.cancel()
      #expect(second.isActive)
      withExtendedLifetime(second) {}
    }
    #expect(source.observerCount == 0)
    let tokens = (0..<2).map { _ in source.observe { closure($0) } }
    onThreads(width) { source.send($0) }
    #expect(calls.current == width * 2)
    withExtendedLifetime(tokens) {}
  }

  @Test("K1 Identifiers ascend and are never used again", arguments: widths)
  func identifiers(width: Int) {
    let source = Broadcaster<Int>()
    let ids = Recorder<[UInt64]>()
    onThreads(width) { _ in
      var own: [UInt64] = []
      for index in 0..<500 {
        let token = source.observe { _ in }
        own.append(token.registration.id)
        if index.isMultiple(of: 2) { token.cancel() }
      }
      ids.record(own)
    }
    for own in ids.values { #expect(own == own.sorted()) }
    let all = ids.values.flatMap { $0 }
    #expect(Set(all).count == width * 500)
  }

  @Test(
    "K2 An observer added inside an observer hears the next post, nested or later",
    arguments: widths)
  func addInside(width: Int) {
    onThreads(width) { _ in
      let source = Broadcaster<Int>()
      let heard = Recorder<Int>()
      let added = Locked<[ObservationToken]>([])
      let token = source.observe { [weak source] value in
        guard let source else { return }
        let new = source.observe { heard.record($0) }
        added.withLock { $0.append(new) }
        if value == 1 { source.send(10) }
      }
      source.send(1)
      #expect(heard.values == [10])
      source.send(2)
      #expect(heard.values == [10, 2, 2])
      token.cancel()
      source.send(3)
      #expect(heard.values == [10, 2, 2, 3, 3, 3])
      added.withLock { $0 = [] }
    }
  }

  @Test(
    "K2 An observer added to a target's group after a post does not hear it there",
    arguments: widths)
  func addToGroup(width: Int) {
    let source = Broadcaster<Int>()
    let queue = DispatchQueue(label: "group")
    let heard = Recorder<String>()
    let early = source.observe(on: .queue(queue)) { _ in heard.record("early") }
    queue.suspend()
    onThreads(width) { source.send($0) }
    let late = source.observe(on: .queue(queue)) { _ in heard.record("late") }
    queue.resume()
    queue.sync {}
    #expect(heard.values == Array(repeating: "early", count: width))
    source.send(0)
    queue.sync {}
    #expect(heard.values.suffix(2) == ["early", "late"])
    withExtendedLifetime((early, late)) {}
  }

  @Test(
    "K3 A2 An observer that cancels itself or those after it is obeyed at once", arguments: widths)
  func cancelInside(width: Int) {
    onThreads(width) { _ in
      let source = Broadcaster<Int>()
      let heard = Recorder<Int>()
      let tokens = Locked<[ObservationToken]>([])
      let life = LiveCount()
      for index in 0..<10 {
        let tracked = Tracked(life)
        let token = source.observe { _ in
          tracked.touch()
          heard.record(index)
          if index == 2 {
            for token in tokens.withLock({ $0 }) {
              #expect(token.cancel() == .ended)
              #expect(token.cancel() == .alreadyEnded)
              #expect(token.cancelAndWait() == .insideObserver)
            }
            #expect(life.current == 10)
          }
        }
        tokens.withLock { $0.append(token) }
      }
      source.send(0)
      #expect(heard.values == [0, 1, 2])
      #expect(life.current == 0)
      tokens.withLock { $0 = [] }
    }
  }

  @Test("K3 A queued delivery is not made once the registration has ended", arguments: widths)
  func cancelQueued(width: Int) {
    let center = MessageCenter()
    let queue = DispatchQueue(label: "held")
    let calls = LiveCount()
    let plain = center.observe(Tick.self, on: .queue(queue)) { _ in calls.increment() }
    let bounded = center.observe(Tick.self, on: .queue(queue, buffering: .newest(100))) { _ in
      calls.increment()
    }
    queue.suspend()
    onThreads(width) { center.post(Tick(number: $0)) }
    #expect(plain.cancel() == .ended)
    #expect(bounded.cancel() == .ended)
    queue.resume()
    queue.sync {}
    #expect(calls.current == 0)
  }

  @Test("K4 Observers that cancel and wait for each other return at once", arguments: [2, 8])
  func mutualWait(width: Int) {
    let source = Broadcaster<Int>()
    let tokens = Locked<[ObservationToken]>([])
    let inside = Gate()
    let results = Recorder<Registration.Wait>()
    for index in 0..<width {
      let token = source.observe { value in
        guard value == index else { return }
        // Every observer runs, on its own thread, before any waits for the next one.
        inside.pass()
        let next = tokens.withLock { $0[(index + 1) % width] }
        results.record(next.cancelAndWait())
      }
      tokens.withLock { $0.append(token) }
    }
    let waits = (0..<width).map { index in onThread { source.send(index) } }
    inside.waitUntilReached(by: width)
    inside.open()
    for wait in waits { wait() }
    #expect(results.values == Array(repeating: .insideObserver, count: width))
    #expect(source.observerCount == 0)
    tokens.withLock { $0 = [] }
  }
}
