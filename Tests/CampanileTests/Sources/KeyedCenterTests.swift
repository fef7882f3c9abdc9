import TestSupport
import Testing

@testable import Campanile
@testable import CampanileFoundation

@Suite("A center whose topics are keys", .eachKindOfSubject, .ownThread)
struct KeyedCenterTests {
  private let center = KeyedCenter<Int>()
  private let heard = Recorder<Int>()

  private func observe(
    _ key: String?, about subject: AnyObject?? = .none, once: Bool = false,
    _ observer: @escaping @Sendable (Int) throws -> Void
  ) -> ObservationToken {
    ObservationToken(
      center.register(
        once ? .once() : .init(), ObserverBody(observer), of: key, about: subject))
  }

  /// What each kind of observer observes.
  private static let kinds: [(key: String?, isAbout: Bool)] = [
    ("key", false), ("key", true), (nil, false), (nil, true),
  ]

  @Test("K5 observers of one target hear each post in one order, whatever they observe")
  func atTarget() {
    let (player, target) = (Player(), ManualTarget())
    for count in 1...4 {
      let center = KeyedCenter<Int>()
      // Each kind alone, and with those that follow it.
      for first in 0...(4 - count) {
        let heard = Recorder<Int>()
        let registrations = (first..<first + count).map { index in
          var request = ObservationRequest()
          request.delivery = .target(target)
          return center.register(
            request, ObserverBody { heard.record($0 * 10 + index) }, of: Self.kinds[index].key,
            about: Self.kinds[index].isAbout ? .some(player) : .none)
        }
        center.post(to: "key", about: player) { 1 }
        center.post(to: "other", about: Player()) { 2 }
        target.runJobs()
        let wildcard = (first..<first + count).filter { $0 == 2 }.map { 20 + $0 }
        #expect(heard.values == (first..<first + count).map { 10 + $0 } + wildcard)
        for registration in registrations { registration.cancel() }
      }
    }
  }

  @Test("An observer that is told the subject is told it, alone and beside others")
  func told() {
    let player = Player()
    let told = Recorder<Bool>()
    for (key, isAbout) in Self.kinds {
      let center = KeyedCenter<Int>()
      for _ in 0..<2 {
        _ = center.register(
          .init(), ObserverBody(inPlace: { told.record($1.subject === player) }), of: key,
          about: isAbout ? .some(player) : .none)
        center.post(to: "key", about: player) { 1 }
      }
      _ = center.register(.init(), ObserverBody { _ in }, of: "key", about: .none)
      center.post(to: "key", about: player) { 1 }
    }
    #expect(told.values == Array(repeating: true, count: 4 * 5))
  }

  @Test("K12 what is about others takes no room in the buffer of an observer of any key")
  func roomForOthers() async {
    let (player, target) = (Player(), ManualTarget())
    let (gate, inbox) = (AsyncGate(), Inbox<Int>())
    let location = CallSite(file: #fileID, line: #line)
    let bounded = ObservationToken(
      center.register(
        ObservationRequest(on: .target(target, buffering: .newest(1)), location),
        ObserverBody { [heard] in heard.record($0) }, of: nil, about: player))
    let async = ObservationToken(
      center.register(
        ObservationRequest(on: .asynchronous(.oldest(1)), location),
        ObserverBody(async: {
          inbox.record($0)
          await gate.pass()
        }), of: nil, about: player))
    center.post(to: "key", about: player) { 1 }
    await gate.waitUntilReached()
    for number in 2..<5 { center.post(to: "key", about: Player()) { number } }
    center.post(to: "key", about: nil) { 5 }
    target.runJobs()
    #expect(heard.values == [1])
    center.post(to: "other", about: player) { 6 }
    gate.open()
    target.runJobs()
    #expect(heard.values == [1, 6])
    #expect(await inbox.values(count: 2) == [1, 6])
    #expect(bounded.registration.droppedCount == 0 && async.registration.droppedCount == 0)
  }

  @Test("K5 a post to a key alone leaves the wildcard observers out, and the other way")
  func parts() {
    let tokens = [
      observe("key") { [heard] in heard.record($0) },
      observe(nil) { [heard] in heard.record($0 * 10) },
    ]
    _ = center.postNarrowly(to: "key", about: nil) { 1 }
    _ = center.postToWildcard(about: nil) { 2 }
    _ = center.postNarrowly(to: "other", about: nil) { 3 }
    center.post(to: "other", about: nil) { 4 }
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 20, 40])
  }

  @Test("K1 a key that is observed about subjects alone is not forgotten")
  func subjectsAlone() {
    let player = Player()
    let token = observe("key", about: player) { [heard] in heard.record($0) }
    for number in 0..<200 { observe("\(number)") { _ in }.cancel() }
    center.post(to: "key", about: player) { 1 }
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("K2 each of many keys has its own observers, however the key is made")
  func manyKeys() {
    // Some have room in the words of a string.
    let keys = (0..<500).map { $0.isMultiple(of: 2) ? "\($0)" : "a key of more characters \($0)" }
    let tokens = keys.indices.map { index in
      observe(keys[index]) { [heard] in heard.record($0 * 1_000 + index) }
    }
    for round in 1...3 {
      for index in keys.indices {
        center.post(to: keys[index], about: nil) { round }
        center.post(to: String(keys[index].reversed().reversed()), about: nil) { round }
      }
      let values = heard.values.suffix(2 * keys.count)
      #expect(
        Array(values) == keys.indices.flatMap { Array(repeating: round * 1_000 + $0, count: 2) })
    }
    withExtendedLifetime(tokens) {}
    #expect(heard.count == 6 * keys.count)
  }

  @Test("K1 a key that was forgotten, and is observed again, is heard", arguments: ["k", longKey])
  func observedAgain(key: String) {
    for round in 1...3 {
      let token = observe(key) { [heard] in heard.record($0) }
      for _ in 0..<2 { center.post(to: key, about: nil) { round } }
      token.cancel()
      center.post(to: key, about: nil) { -1 }
      forgetKeys()
      center.post(to: key, about: nil) { -1 }
    }
    #expect(heard.values == [1, 1, 2, 2, 3, 3])
  }

  @Test("K16 a key that is forgotten during a post under it is kept until the post leaves")
  func forgottenInPost() {
    let (slot, list, isKept) = (Slot<ObservationToken>(), Slot<WeakList>(), Recorder<Bool>())
    func observeOnce() {
      let token = observe("key") { [self] _ in
        slot.value?.cancel()
        slot.set(nil)
        forgetKeys()
        isKept.record(list.value?.list != nil)
      }
      list.set(WeakList(token.registration.list))
      slot.set(token)
    }
    for isFirst in [true, false] {
      observeOnce()
      // The second time, the post finds the key without a lock.
      if !isFirst { center.post(to: "key", about: Player()) { 1 } }
      center.post(to: "key", about: nil) { 1 }
      #expect(list.value.map { $0.list == nil } == true)
    }
    #expect(isKept.values == [true, true])
  }

  private struct WeakList: Sendable {
    weak let list: ObserverList?
    init(_ list: ObserverList) { self.list = list }
  }

  @Test("K1 K16 posts under constants meet the ends of all who observe these", arguments: [2, 8])
  func forgottenInRace(width: Int) {
    let count = Effort.times(300, long: 3_000)
    onThreads(width) { [center] thread in
      let (own, heard) = ("\(thread)", Recorder<Int>())
      for number in 0..<count {
        let registrations = [own, "shared"].map { key in
          center.register(
            .init(), ObserverBody { heard.record($0) }, of: key, about: .none)
        }
        center.post(to: own, about: nil) { number }
        center.post(to: "shared", about: nil) { -1 }
        for registration in registrations { registration.cancel() }
        // So that keys are forgotten from time to time.
        let other = center.register(
          .init(), ObserverBody { _ in }, of: "\(thread) \(number)", about: .none)
        other.cancel()
      }
      #expect(heard.values.filter { $0 >= 0 } == Array(0..<count))
      #expect(heard.count >= 2 * count)
    }
  }

  private static let longKey = "a key that is not in the words of a string"

  /// Has the center forget the keys that nobody observes.
  private func forgetKeys() {
    for number in 0..<200 { observe("another key \(number)") { _ in }.cancel() }
  }

  @Test("K15 K16 what is made while a post is being reported is not held until the post returns")
  func madeInReport() {
    let order = Recorder<String>()
    @Sendable func observeForAMoment() {
      let probe = OnRelease { order.record("released") }
      let body = ObserverBody<Int> { _ in withExtendedLifetime(probe) {} }
      center.register(.init(), body, of: "key", about: .none).cancel()
    }
    let watch = center.keys.events.observe { event in
      guard event.kind == .posted else { return }
      observeForAMoment()
      order.record("reported")
    }
    let token = observe("key") { _ in order.record("called") }
    center.post(to: "key", about: nil) { 1 }
    #expect(order.values == ["released", "reported", "called"])
    withExtendedLifetime((token, watch)) {}
  }

  @Test(
    "K13 a wildcard observer of one call that throws has had it, and is reported, in every form")
  func onceThrowing() async throws {
    let center = KeyedCenter<Int>()
    let failures = Recorder(observing: center.keys.registry.failures)
    let bodies: [ObserverBody<Int>] = [
      ObserverBody { _ in throw TestFailure() },
      ObserverBody(inPlace: { _, _ in throw TestFailure() }),
      ObserverBody(async: { _ in throw TestFailure() }),
    ]
    let lines = (1...3).map { UInt($0) }
    let registrations = zip(bodies, lines).map { body, line in
      center.register(.once(line: line), body, of: nil, about: .none)
    }
    for number in 1...2 { center.post(to: "key", about: nil) { number } }
    let told = try await failures.next(3, within: patience)
    #expect(told.map(\.line).sorted() == [1, 2, 3])
    #expect(told.allSatisfy { $0.error is TestFailure })
    for registration in registrations { _ = await registration.cancelAndWait() }
    #expect(failures.count == 3)
  }

  @Test("K1 a wildcard observer of one call is used up by what it is about", arguments: [1, 2, 8])
  func once(width: Int) {
    let player = Player()
    let token = observe(nil, about: .some(player), once: true) { [heard] in heard.record($0) }
    center.post(to: "key", about: Player()) { 1 }
    #expect(token.isActive)
    onThreads(width) { [center] _ in
      for _ in 0..<100 { center.post(to: "key", about: player) { 2 } }
    }
    #expect(heard.values == [2])
    #expect(!token.isActive)
  }

  @Test(
    "K8 K13 An observer that wants one call ends with its owner and reports nothing",
    arguments: [nil, "key"])
  func onceWithOwner(key: String?) {
    let center = KeyedCenter<Int>()
    let failures = Recorder(observing: center.keys.registry.failures)
    var registration: Registration?
    do {
      let player = Player()
      let body = ObserverBody<Int>(player) { [heard] _, value in heard.record(value) }
      registration = center.register(.once(owner: player), body, of: key, about: .none)
    }
    center.post(to: "key", about: nil) { 1 }
    #expect(failures.count == 0)
    #expect(heard.values == [])
    #expect(registration?.isActive == false)
  }

  @Test("A thread's mark ends with the thread, and is no other thread's", arguments: [1, 2, 8])
  func marks(width: Int) async {
    let ended = Inbox<Int>()
    let marks = Recorder<ThreadMark>()
    onThreads(width) { _ in
      let mark = ThreadMark.current
      #expect(mark === ThreadMark.current && mark.isCurrent)
      marks.record(mark)
      mark.onEnd { ended.record(1) }
    }
    #expect(await ended.values(count: width).count == width)
    let late = Recorder<Int>()
    for mark in marks.values { mark.onEnd { late.record(1) } }
    #expect(late.count == width)
    #expect(Set(marks.values.map { ObjectIdentifier($0) }).count == width)
    #expect(marks.values.allSatisfy { !$0.isCurrent })
  }

  @Test("A path is known to the observers of the post that carries it, and to no nested one")
  func paths() {
    let center = MessageCenter()
    let path = [PathStep(number: 1)]
    let found = Recorder<[PathStep]>()
    let nesting = center.observe(Tick.self) { [weak center] in
      if $0.number == 1 { center?.post(Tick(number: 2)) }
    }
    let registration = center.observeInPlace(Tick.self, file: #fileID, line: #line) { _, post in
      found.record(post.path)
    }
    center.post(Tick(number: 1), about: nil, along: path)
    center.post(Tick(number: 3))
    withExtendedLifetime((nesting, registration)) {}
    #expect(found.values == [[], path, []])
  }

  @Test("An action is performed once at a place, after what is enqueued there")
  func perform() {
    let target = ManualTarget()
    Delivery.target(target).perform { [heard] in heard.record(1) }
    Delivery.target(target).perform { [heard] in heard.record(2) }
    #expect(heard.values.isEmpty)
    target.runJobs()
    #expect(heard.values == [1, 2])
  }
}

#if DEBUG
  @Suite("A post under a key held before it looks at the topic it has found", .ownThread)
  struct KeyedInterleavingTests {
    /// The place in the table of the topics that were found last at which a search begins.
    private func place(of key: String) throws -> UInt {
      (try #require(StringIdentity(key)).word &* 0x9E37_79B9_7F4A_7C15) >> 56
    }

    @Test(
      "K2 a post whose topic has lost its place to that of another key reaches its own observers")
    func placeTaken() throws {
      let gates = CheckpointGates()
      let center = KeyedCenter<Int>(KeyTable(of: Int.self, gates.makeRegistry()))
      let (heard, otherHeard) = (Recorder<Int>(), Recorder<Int>())
      // With so many topics the table is full; the next one, which has the place of the first, empties it.
      let place = try place(of: "key")
      let others = (0..<2_000).map { "other \($0)" }
      let taker = try #require(try others.first { try self.place(of: $0) == place })
      let keys = ["key"] + others.filter { $0 != taker }.prefix(191)
      let tokens: [ObservationToken] = (keys + [taker]).map { key in
        let recorder = key == "key" ? heard : otherHeard
        return ObservationToken(
          center.register(
            .init(), ObserverBody { recorder.record($0) }, of: key, about: .none))
      }
      for key in keys { center.post(to: key, about: nil) { 0 } }
      let gate = gates.hold(at: .announced)
      let wait = onThread { center.post(to: "key", about: nil) { 1 } }
      gate.waitUntilReached()
      center.post(to: taker, about: nil) { 2 }
      gate.open()
      wait()
      #expect(heard.values == [0, 1])
      #expect(otherHeard.values == Array(repeating: 0, count: 191) + [2])
      withExtendedLifetime(tokens) {}
    }
  }
#endif

extension ObservationRequest {
  /// A request for an observer of one call.
  fileprivate static func once(owner: Player? = nil, line: UInt = #line) -> Self {
    var request = Self(owner: owner, line: line)
    request.options.isOnce = true
    return request
  }
}
