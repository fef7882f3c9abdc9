import TestSupport
import Testing

@testable import Campanile

/// Posts that one registration does not hear.
@Suite("Skipping one registration", .ownThread)
struct SkippingTests {
  private let heard = Recorder<String>()
  private let queue = TestQueue()

  @Test("A post skips one registration, of every kind, and nobody else")
  func everyKind() async throws {
    let (center, player, owner) = (MessageCenter(), Player(), Player())
    let all = center.messages(of: LevelChanged.self)
    let about = center.messages(of: LevelChanged.self, about: player)
    var tokens: [ObservationToken] = []
    tokens.append(all.observe { [heard] _ in heard.record("plain") })
    tokens.append(all.withSubject.observe { [heard] _ in heard.record("told") })
    tokens.append(about.observe { [heard] _ in heard.record("about") })
    tokens.append(all.observe(on: queue.delivery) { [heard] _ in heard.record("queue") })
    tokens.append(all.observe(on: queue.delivery) { [heard] _ in heard.record("beside") })
    tokens.append(all.observe(on: queue.delivery.ordered) { [heard] _ in heard.record("ordered") })
    tokens.append(
      all.observe(on: queue.delivery, buffering: .newest(8)) { [heard] _ in
        heard.record("bounded")
      })
    tokens.append(all.observeAsync { [heard] _ in heard.record("task") })
    tokens.append(
      center.anyMessage.observe { [heard] _ in heard.record("any") })
    let owned = all.observe(owner: owner) { [heard] _, _ in heard.record("owner") }
    let names = [
      "plain", "told", "about", "queue", "beside", "ordered", "bounded", "task", "any", "owner",
    ]
    let registrations = tokens.map(\.registration) + [owned]
    for (name, registration) in zip(names, registrations) {
      let before = heard.values.count
      center.post(LevelChanged(level: 1), about: player, skipping: registration)
      try await center.postAndWait(LevelChanged(level: 2), about: player)
      let new = heard.values.dropFirst(before)
      for other in names {
        let count = other == name ? 1 : 2
        #expect(new.count { $0 == other } == count, "\(other) while \(name) was skipped")
      }
    }
    withExtendedLifetime((tokens, owner)) {}
  }

  @Test("The only observer about a subject is skipped")
  func single() {
    let (center, player) = (MessageCenter(), Player())
    let token = center.messages(of: LevelChanged.self, about: player).observe { [heard] _ in
      heard.record("single")
    }
    center.post(LevelChanged(level: 1), about: player, skipping: token.registration)
    #expect(heard.values.isEmpty)
    center.post(LevelChanged(level: 1), about: player)
    #expect(heard.values == ["single"])
  }

  @Test("A post that an observer makes meanwhile is heard by everybody")
  func nested() {
    let center = MessageCenter()
    let token = center.observe(Tick.self) { [heard] in heard.record("first \($0.number)") }
    let other = center.observe(Tick.self) { [heard] tick in
      heard.record("second \(tick.number)")
      if tick.number == 1 { center.post(Tick(number: 2)) }
    }
    center.post(Tick(number: 1), skipping: token.registration)
    #expect(heard.values == ["second 1", "first 2", "second 2"])
    withExtendedLifetime(other) {}
  }

  @Test("K15 A post that skips a registration is reported as a post, without that call")
  func reported() {
    let center = MessageCenter()
    let events = Recorder(observing: center.events)
    let tokens = (0..<2).map { index in
      center.observe(Tick.self) { [heard] in heard.record("\(index) \($0.number)") }
    }
    center.post(Tick(number: 1), skipping: tokens[0].registration)
    #expect(heard.values == ["1 1"])
    #expect(events.values.filter { $0.kind == .posted }.count == 1)
    #expect(events.values.filter { $0.kind == .called }.count == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("An only call is not used up by a post that skips it")
  func once() {
    let center = MessageCenter()
    let token = center.messages(of: Tick.self).observe(options: .once) { [heard] in
      heard.record("\($0.number)")
    }
    center.post(Tick(number: 1), skipping: token.registration)
    center.post(Tick(number: 2))
    #expect(heard.values == ["2"])
  }

  @Test("A registration of another source, or one that has ended, makes no difference")
  func others() {
    let (center, other) = (MessageCenter(), MessageCenter())
    let token = center.observe(Tick.self) { [heard] in heard.record("\($0.number)") }
    let foreign = other.observe(Tick.self) { _ in }
    let ended = center.observe(Tick.self) { _ in }
    ended.cancel()
    center.post(Tick(number: 1), skipping: foreign.registration)
    center.post(Tick(number: 2), skipping: ended.registration)
    #expect(heard.values == ["1", "2"])
    withExtendedLifetime(token) {}
  }

  @Test("A broadcaster skips, and reports no call of whom it skips")
  func broadcaster() {
    let source = Broadcaster<Int>()
    let tokens = (0..<3).map { index in
      source.observe { [heard] in heard.record("\(index): \($0)") }
    }
    source.send(1, skipping: tokens[1].registration)
    let events = Recorder(observing: source.events)
    source.send(2, skipping: tokens[0].registration)
    #expect(heard.values == ["0: 1", "2: 1", "1: 2", "2: 2"])
    let called = events.values.filter { $0.kind == .called }.compactMap(\.registration?.id)
    #expect(called == tokens.dropFirst().map(\.registration.id))
  }

  @Test("Two states follow each other without an echo, also when a set waits for another one")
  func states() {
    let (left, right) = (CurrentValue(0), CurrentValue(0))
    let forth = left.observe { right.value = $0.new }
    let back = right.observe { [heard] change in
      left.set(change.new, skipping: forth.registration)
      heard.record("back \(change.new)")
    }
    let follower = left.observe { [heard] change in
      heard.record("\(change.old.map { "\($0)" } ?? "")-\(change.new)")
      // Waits until this one has been told to all.
      if change.new == 1 { left.set(2, skipping: forth.registration) }
    }
    right.value = 1
    #expect(heard.values == ["0-1", "1-2", "back 1"])
    #expect(right.value == 1)
    left.value = 3
    // What the setter of the left state leads to comes back to it, and goes no further.
    #expect(right.value == 3)
    #expect(heard.values.dropFirst(3).filter { $0.hasPrefix("back") } == ["back 3"])
    withExtendedLifetime((back, follower)) {}
  }

  @Test(
    "K10 postAndWait waits for a delivery that is held open, until it is ended or released",
    arguments: [true, false])
  func held(ends: Bool) async throws {
    let center = MessageCenter()
    let hold = Locked<HeldDelivery?>(nil)
    let isHeld = Inbox<Bool>()
    let registration = center.observeInPlace(Tick.self, file: #fileID, line: #line) { _, post in
      let held = post.hold()
      hold.withLock { $0 = held }
      isHeld.record(held != nil)
    }
    center.post(Tick(number: 1))
    let wait = Task { [heard] in
      try await center.postAndWait(Tick(number: 2))
      heard.record("over")
    }
    #expect(await isHeld.values(count: 2) == [false, true])
    heard.record("held")
    if ends { hold.withLock { $0 }?.end() } else { release(hold) }
    try await wait.value
    #expect(heard.values == ["held", "over"])
    registration.cancel()
  }

  private func release(_ hold: borrowing Locked<HeldDelivery?>) {
    _ = hold.withLock { $0.take() }
  }
}
