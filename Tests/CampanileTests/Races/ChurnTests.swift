import Campanile
import Dispatch
import Synchronization
import Testing

/// Every kind of registration coming and going while messages are posted.
///
/// What an observer captured is checked at each call, so that a call after its release is seen even
/// without a sanitizer, and counted at the end, so that a leak is.
@Suite("Churn", .eachKindOfSubject, .ownThread)
struct ChurnTests {
  /// Says whether it is still alive, for as long as its memory is not used again.
  private final class Canary: Sendable {
    private let tracked: Tracked
    private let isAlive = Atomic<Bool>(true)

    init(_ living: LiveCount) { tracked = Tracked(living) }
    deinit { isAlive.store(false, ordering: .relaxed) }

    func check() {
      precondition(isAlive.load(ordering: .relaxed), "An observer was called after its release")
    }
  }

  private final class Screen: LifetimeOwner {
    let lifetime = Lifetime()
    let canary: Canary
    init(_ living: LiveCount) { canary = Canary(living) }
  }

  private final class Plain: Sendable {
    let canary: Canary
    init(_ living: LiveCount) { canary = Canary(living) }
  }

  private let center = MessageCenter()
  /// The canaries that have not ended.
  private let living = LiveCount()
  private let subjects = (0..<4).map { _ in Player() }
  private let queues = (0..<2).map { DispatchQueue(label: "churn \($0)") }

  @Test(
    "K3 K7 K16 E6 Nothing is called after its release and nothing leaks",
    arguments: [1, 2, 8])
  func churn(width: Int) async {
    let rounds = Effort.times(1_500, long: 4_000) / width
    onThreads(width * 2) { index in
      if index % 2 == 0 {
        post(index / 2, rounds: rounds)
      } else {
        register(rounds: rounds)
      }
    }
    for queue in queues { await drain(queue) }
    #expect(center.observerCount == 0)
    // Asynchronous calls that had begun end by themselves.
    await eventually { living.current == 0 }
  }

  /// Returns when everything that was queued before has run, the jobs that it enqueued included.
  private func drain(_ queue: DispatchQueue) async {
    try? await center.postAndWait(Tick(number: 0))
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
  }

  private func post(_ index: Int, rounds: Int) {
    for number in 0..<rounds {
      switch number % 4 {
      case 0: center.post(Tick(number: number))
      case 1: center.post(LevelChanged(level: number), about: subjects[number % subjects.count])
      case 2: center.post(LevelChanged(level: number))
      default: queues[index % queues.count].sync { center.post(Tick(number: number)) }
      }
    }
  }

  private func register(rounds: Int) {
    var random = SystemRandomNumberGenerator()
    var tokens: [ObservationToken] = []
    var owners: [any AnyObject & Sendable] = []
    for round in 0..<rounds {
      let kind = Int.random(in: 0..<11, using: &random)
      if kind < 8 {
        tokens.append(makeToken(kind))
      } else {
        owners.append(observeOwned(kind))
      }
      if tokens.count > 40 { tokens.remove(at: Int.random(in: 0..<40, using: &random)) }
      if owners.count > 10 { owners.removeFirst() }
      if round % 16 == 0, let owner = owners.last { center.removeObservers(ownedBy: owner) }
      if round % 8 == 0 { _ = tokens.last?.cancelAndWait() }
    }
  }

  private func makeToken(_ kind: Int) -> ObservationToken {
    let canary = Canary(living)
    switch kind {
    case 0: return center.observe(Tick.self) { _ in canary.check() }
    case 1: return center.observe(Tick.self, on: .queue(queues[0])) { _ in canary.check() }
    case 2:
      return center.observe(Tick.self, on: .queue(queues[1]).ordered, options: .once) { _ in
        canary.check()
      }
    case 3:
      return center.messages(of: LevelChanged.self, about: subjects[0]).observe {
        [center] message in
        canary.check()
        if message.level % 64 == 1 { center.post(LevelChanged(level: 0)) }
      }
    case 4:
      return center.messages(of: LevelChanged.self, about: Player()).observe(on: .queue(queues[0]))
      { _ in
        canary.check()
      }
    case 5: return center.anyMessage.observe(on: .queue(queues[1])) { _ in canary.check() }
    case 6:
      return center.observe(Tick.self, on: .queue(queues[0], buffering: .newest(2))) { _ in
        canary.check()
      }
    default:
      return center.messages(of: Tick.self).observeAsync { _ in
        canary.check()
        await Task.yield()
        canary.check()
      }
    }
  }

  private func observeOwned(_ kind: Int) -> any AnyObject & Sendable {
    let canary = Canary(living)
    if kind == 8 {
      let owner = Screen(living)
      center.messages(of: LevelChanged.self).withSubject.observe(owner: owner) { owner, _ in
        owner.canary.check()
        canary.check()
      }
      return owner
    }
    let owner = Plain(living)
    let delivery: Delivery = kind == 9 ? .immediate : .queue(queues[0])
    center.observe(Tick.self, owner: owner, on: delivery) { owner, _ in
      owner.canary.check()
      canary.check()
    }
    return owner
  }
}
