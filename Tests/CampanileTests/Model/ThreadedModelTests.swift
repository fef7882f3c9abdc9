import Foundation
import Testing

@testable import Campanile

/// Random steps on many threads, and a checker that looks at what each observer heard.
///
/// For each poster and each observer: the posts come in their order, none twice, none that the
/// observer does not observe; every one that began after `observe` had returned and returned before
/// `cancel` was called; and none after `cancelAndWait` had returned or the owner's `deinit` had begun.
@Suite("Model with threads", .eachKindOfSubject, .ownThread)
struct ThreadedModelTests {
  @Test(
    "K1 K3 K4 K6 K8 K9 D4 Nothing is lost, repeated, reordered or late, with subjects and owners",
    arguments: [2, 8])
  func center(width: Int) {
    check(width) { CenterArena() }
  }

  @Test("K1 K3 K4 K6 K8 The same for a broadcaster", arguments: [2, 8])
  func broadcaster(width: Int) {
    check(width) { BroadcasterArena() }
  }

  private func check(_ width: Int, _ make: () -> any Arena) {
    for seed in Seed.some(Effort.times(2, long: 4)) {
      let run = ThreadedRun(seed: seed, width: width, arena: make())
      run.play(stepCount: Effort.times(800, long: 1_600) / width)
      if let problem = run.problems.first {
        Issue.record(
          """
          seed \(seed), \(width) threads: \(problem), and \(run.problems.count - 1) more
          \(run.script)
          """)
        return
      }
    }
  }

  @Test("K6 K14 Followers hear one order of all sets, without a gap", arguments: [2, 8])
  func currentValue(width: Int) {
    for seed in Seed.some(Effort.times(2, long: 4)) {
      let state = CurrentValue(Tag(thread: 0, number: 0))
      let followers = (0..<3).map { _ in Recorder(observing: state.changes, options: [.initial]) }
      let queue = TestQueue("followers")
      let queued = Recorder(observing: state.changes, on: queue.delivery, options: [.initial])
      queue.flush()
      onThreads(width) { thread in
        var random = SeededGenerator(seed &+ UInt64(thread))
        var mine: [Recorder<ValueChange<Tag>>] = []
        for number in 1...800 / width {
          state.value = Tag(thread: thread, number: number)
          // Others come and go; each begins with the value and misses nothing while it is there.
          if random.once(in: 8) {
            mine.append(Recorder(observing: state.changes, options: [.initial]))
          }
          if random.once(in: 8), let late = mine.popLast() { checkChain(late, seed) }
        }
        for late in mine { checkChain(late, seed) }
      }
      queue.flush()
      let all = followers[0].values.map(\.new)
      #expect(all.count == 800 / width * width + 1, "seed \(seed)")
      for follower in followers + [queued] {
        #expect(follower.values.map(\.new) == all, "seed \(seed)")
        checkChain(follower, seed)
      }
      for thread in 0..<width {
        let own = all.dropFirst().filter { $0.thread == thread }.map(\.number)
        #expect(own == Array(1...800 / width), "seed \(seed)")
      }
      #expect(all.last == state.value, "seed \(seed)")
    }
  }

  /// Each change begins with what the one before ended with.
  private func checkChain(_ follower: Recorder<ValueChange<Tag>>, _ seed: UInt64) {
    let changes = follower.values
    // The first call of an observer waits for the thread that is telling.
    #expect(changes.first?.isInitial != false, "seed \(seed)")
    for (one, next) in zip(changes, changes.dropFirst()) where next.old != one.new {
      Issue.record("seed \(seed): a gap between \(one.new) and \(next)")
    }
  }
}

/// A post, as its thread numbers them.
struct Tag: Sendable, Hashable {
  var thread: Int
  var number: Int
  var subject: Int?
}

/// A source that several threads use at once.
protocol Arena: Sendable {
  var subjectCount: Int { get }
  func post(_ tag: Tag)
  func observe(
    _ scope: Scope, _ delivery: Delivery, _ observer: @escaping @Sendable (Tag) -> Void
  ) -> ObservationToken
  func observe(
    _ delivery: Delivery, owner: MortalOwner, _ observer: @escaping @Sendable (Tag) -> Void
  ) -> Registration
}

/// An owner that knows whether it has ended.
final class MortalOwner: Sendable {
  let hasEnded: LiveCount
  init(_ hasEnded: LiveCount) { self.hasEnded = hasEnded }
  deinit { hasEnded.increment() }
}

private struct BroadcasterArena: Arena {
  let subjectCount = 0
  private let tags = Broadcaster<Tag>()

  func post(_ tag: Tag) { tags.send(tag) }
  func observe(
    _ scope: Scope, _ delivery: Delivery, _ observer: @escaping @Sendable (Tag) -> Void
  ) -> ObservationToken { tags.observe(on: delivery) { observer($0) } }
  func observe(
    _ delivery: Delivery, owner: MortalOwner, _ observer: @escaping @Sendable (Tag) -> Void
  ) -> Registration { tags.observe(owner: owner, on: delivery) { observer($1) } }
}

private struct CenterArena: Arena {
  private struct Tagged: MessageCenter.Message {
    typealias Subject = Player
    let tag: Tag
  }

  let subjectCount = 3
  private let center = MessageCenter()
  private let subjects = (0..<3).map { _ in Player() }

  func post(_ tag: Tag) {
    if let subject = tag.subject {
      center.post(Tagged(tag: tag), about: subjects[subject])
    } else {
      center.post(Tagged(tag: tag))
    }
  }

  func observe(
    _ scope: Scope, _ delivery: Delivery, _ observer: @escaping @Sendable (Tag) -> Void
  ) -> ObservationToken {
    switch scope {
    case .wild:
      center.anyMessage.observe(on: delivery) {
        if let tagged = $0.message as? Tagged { observer(tagged.tag) }
      }
    case .every:
      center.observe(Tagged.self, on: delivery) { (tagged: Tagged) in observer(tagged.tag) }
    case .subject(let subject):
      center.messages(of: Tagged.self, about: subjects[subject]).observe(on: delivery) {
        (tagged: Tagged) in
        observer(tagged.tag)
      }
    }
  }

  func observe(
    _ delivery: Delivery, owner: MortalOwner, _ observer: @escaping @Sendable (Tag) -> Void
  ) -> Registration {
    center.observe(Tagged.self, owner: owner, on: delivery) { (_: MortalOwner, tagged: Tagged) in
      observer(tagged.tag)
    }
  }
}

/// One run of many threads.
private final class ThreadedRun: Sendable {
  /// One registration, with what must be known to check it.
  final class Listener: Sendable {
    let scope: Scope
    let isQueued: Bool
    let heard = Recorder<Tag>()
    /// After this, a call is a broken promise.
    let mustBeSilent = LiveCount()
    let lateCalls = LiveCount()
    /// How many posts of each thread had begun when `observe` had returned, and had returned when the
    /// end began; the latter is none where there was no end.
    let begun = Locked<[Int]>([])
    let returned = Locked<[Int]?>(nil)

    init(_ scope: Scope, isQueued: Bool) {
      self.scope = scope
      self.isQueued = isQueued
    }

    @Sendable func hear(_ tag: Tag) {
      if mustBeSilent.current > 0 { lateCalls.increment() }
      heard.record(tag)
      // Others come to run in the middle of a call.
      if tag.number.isMultiple(of: 8) { sched_yield() }
      if mustBeSilent.current > 0 { lateCalls.increment() }
    }

    func observes(_ tag: Tag) -> Bool {
      if case .subject(let subject) = scope { return tag.subject == subject }
      return true
    }
  }

  let seed: UInt64
  let width: Int
  private let arena: any Arena
  private let begun: [LiveCount]
  private let returned: [LiveCount]
  private let queues = (0..<2).map { TestQueue("model \($0)") }
  /// What each thread has posted.
  private let posts: [Recorder<Tag>]
  private let listeners = Recorder<Listener>()
  private let lines = Recorder<String>()

  init(seed: UInt64, width: Int, arena: any Arena) {
    self.seed = seed
    self.width = width
    self.arena = arena
    begun = (0..<width).map { _ in LiveCount() }
    returned = (0..<width).map { _ in LiveCount() }
    posts = (0..<width).map { _ in Recorder() }
  }

  /// What the threads did.
  var script: String { lines.values.joined(separator: "\n") }

  func play(stepCount: Int) {
    let staying = (0..<3).map { index in
      listen([Scope.every, .wild, .every][index], index == 2 ? queues[0].delivery : .immediate)
    }
    onThreads(width) { thread in self.play(stepCount, on: thread) }
    for queue in queues { queue.flush() }
    withExtendedLifetime(staying) {}
  }

  private func play(_ stepCount: Int, on thread: Int) {
    var random = SeededGenerator(seed &* 1_000 &+ UInt64(thread))
    var tokens: [(ObservationToken, Listener)] = []
    var owners: [(MortalOwner, Listener)] = []
    for step in 0..<stepCount {
      switch random.below(12) {
      case 0, 1:
        let delivery = makeDelivery(&random)
        let scope: Scope =
          arena.subjectCount == 0
          ? .every
          : [.every, .wild, .subject(random.below(arena.subjectCount))][random.below(3)]
        tokens.append(listen(scope, delivery))
        lines.record("\(thread) \(step): observe \(scope) on \(delivery)")
      case 2:
        owners.append(own(makeDelivery(&random)))
        lines.record("\(thread) \(step): observe with an owner")
      case 3 where !tokens.isEmpty:
        let (token, listener) = tokens.remove(at: random.below(tokens.count))
        end(token, listener, waits: random.once(in: 2))
        lines.record("\(thread) \(step): cancel")
      case 4 where !owners.isEmpty:
        let (owner, listener) = owners.remove(at: random.below(owners.count))
        listener.returned.withLock { $0 = returned.map(\.current) }
        withExtendedLifetime(owner) {}
        lines.record("\(thread) \(step): release an owner")
      default:
        post(thread, arena.subjectCount > 0 && random.once(in: 2) ? random.below(3) : nil)
      }
    }
    // What is left is heard to the end, and the queues are flushed before it goes.
    for (token, listener) in tokens { kept.withLock { $0.append((token, listener)) } }
    for (owner, listener) in owners { keptOwners.withLock { $0.append((owner, listener)) } }
  }

  private let kept = Locked<[(ObservationToken, Listener)]>([])
  private let keptOwners = Locked<[(MortalOwner, Listener)]>([])

  private func makeDelivery(_ random: inout SeededGenerator) -> Delivery {
    random.once(in: 2) ? .immediate : queues[random.below(queues.count)].delivery
  }

  private func post(_ thread: Int, _ subject: Int?) {
    let tag = Tag(thread: thread, number: begun[thread].current, subject: subject)
    posts[thread].record(tag)
    begun[thread].increment()
    arena.post(tag)
    returned[thread].increment()
  }

  @discardableResult
  private func listen(_ scope: Scope, _ delivery: Delivery) -> (ObservationToken, Listener) {
    let listener = Listener(scope, isQueued: !delivery.isImmediate)
    let token = arena.observe(scope, delivery) { listener.hear($0) }
    listener.begun.withLock { $0 = begun.map(\.current) }
    listeners.record(listener)
    return (token, listener)
  }

  private func own(_ delivery: Delivery) -> (MortalOwner, Listener) {
    let listener = Listener(.every, isQueued: !delivery.isImmediate)
    let owner = MortalOwner(listener.mustBeSilent)
    _ = arena.observe(delivery, owner: owner) { listener.hear($0) }
    listener.begun.withLock { $0 = begun.map(\.current) }
    listeners.record(listener)
    return (owner, listener)
  }

  private func end(_ token: ObservationToken, _ listener: Listener, waits: Bool) {
    listener.returned.withLock { $0 = returned.map(\.current) }
    if waits {
      if token.cancelAndWait() == .finished { listener.mustBeSilent.increment() }
    } else if token.cancel() == .ended {
      listener.mustBeSilent.increment()
    }
  }

  // MARK: Checking

  var problems: [String] {
    let listeners = listeners.values
    let posts = posts.map(\.values)
    return listeners.enumerated().flatMap { index, listener in
      problems(of: listener, posts).map { "listener \(index) (\(listener.scope)) \($0)" }
    }
  }

  private func problems(of listener: Listener, _ posts: [[Tag]]) -> [String] {
    var problems: [String] = []
    let heard = listener.heard.values
    if listener.lateCalls.current > 0 { problems.append("was called after its end") }
    if heard.contains(where: { !listener.observes($0) }) {
      problems.append("heard what is about something else")
    }
    let begun = listener.begun.withLock { $0 }
    let ended = listener.returned.withLock { $0 }
    for thread in 0..<width {
      let own = heard.filter { $0.thread == thread }.map(\.number)
      if own != Array(Set(own)).sorted() {
        problems.append("heard the posts of thread \(thread) out of order or twice")
      }
      // What was queued when it ended is not delivered: up to the last that was, nothing is missing.
      let last =
        ended.map { listener.isQueued ? min($0[thread], (own.last ?? -1) + 1) : $0[thread] }
        ?? posts[thread].count
      let due = posts[thread].filter {
        $0.number >= begun[thread] && $0.number < last && listener.observes($0)
      }
      let lost = Set(due.map(\.number)).subtracting(own)
      if !lost.isEmpty {
        problems.append("lost \(lost.sorted()) of thread \(thread), which are between its ends")
      }
    }
    return problems
  }
}
