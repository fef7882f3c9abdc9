import Campanile
import Dispatch
import Synchronization

/// What one thread of a soak does: posts, and registrations of every kind that come and go.
struct SoakWorker {
  private let world: SoakWorld
  private let poster: Int
  private var random: SplitMix
  private var tokens: [ObservationToken] = []
  private var owners: [SoakOwner] = []
  private var things = [SoakThing(), SoakThing()]
  private var waits: [() -> Void] = []

  init(_ world: SoakWorld, poster: Int, seed: UInt64) {
    self.world = world
    self.poster = poster
    random = SplitMix(state: seed)
  }

  mutating func work(until end: ContinuousClock.Instant) {
    var count = 0
    while true {
      if count % 64 == 0, ContinuousClock.now >= end { break }
      step()
      count += 1
    }
    for wait in waits { wait() }
    world.counts.operations.wrappingAdd(count, ordering: .relaxed)
  }

  private mutating func step() {
    switch Int.random(in: 0..<24, using: &random) {
    case 0..<7: post()
    case 7..<10: move()
    case 10..<12: set()
    case 12..<17: observe()
    case 17..<19: observeOwned()
    case 19: things[Int.random(in: 0..<2, using: &random)] = SoakThing()
    case 20: _ = tokens.randomElement(using: &random)?.cancelAndWait()
    case 21: pauseOrResume()
    case 22: removeOwned()
    default: if Int.random(in: 0..<200, using: &random) == 0 { beginThread() }
    }
  }

  /// How many messages may wait: the queues have work for a while with so many.
  private static let backlog = 20_000

  private func post() {
    let counts = world.counts
    let note = counts.nextNote(of: poster)
    world.center.post(note)
    // Nothing holds a poster up: one that never stops has to look how much is waiting.
    while counts.heard.load(ordering: .relaxed) - counts.queued.load(ordering: .relaxed)
      > Self.backlog
    {
      world.queues[0].sync {}
    }
  }

  private mutating func move() {
    world.counts.moves.wrappingAdd(1, ordering: .relaxed)
    let thing = things[Int.random(in: 0..<2, using: &random)]
    world.center.post(SoakMove(number: 0), about: thing)
  }

  private mutating func set() {
    world.counts.sets.wrappingAdd(1, ordering: .relaxed)
    world.level.value = Int.random(in: 0..<100, using: &random)
  }

  private mutating func observe() {
    let counts = world.counts
    let place = world.queues[Int.random(in: 0..<3, using: &random)]
    let queue = Delivery.queue(place)
    let count: @Sendable () -> Void = { counts.deliveries.wrappingAdd(1, ordering: .relaxed) }
    let thing = things[0]
    let token =
      switch Int.random(in: 0..<8, using: &random) {
      case 0: world.center.observe(SoakNote.self) { _ in count() }
      case 1: world.center.observe(SoakNote.self, options: .once) { _ in count() }
      case 2: world.center.observe(SoakNote.self, on: queue) { _ in count() }
      case 3:
        world.center.observe(SoakNote.self, on: .queue(place, buffering: .oldest(4))) { _ in count()
        }
      case 4: world.center.messages(of: SoakMove.self, about: thing).observe { _ in count() }
      case 5:
        world.center.messages(of: SoakMove.self, about: thing)
          .observe(on: .queue(place, ordered: true)) { _ in count() }
      case 6: world.center.anyMessage.observe { _ in count() }
      default: world.level.observe(on: queue, options: .initial) { _ in count() }
      }
    tokens.append(token)
    counts.registrations.wrappingAdd(1, ordering: .relaxed)
    if tokens.count > 24 { tokens.remove(at: Int.random(in: 0..<24, using: &random)) }
  }

  private mutating func observeOwned() {
    let counts = world.counts
    let owner = SoakOwner()
    let queue = Delivery.queue(world.queues[Int.random(in: 0..<3, using: &random)])
    let delivery = Bool.random(using: &random) ? queue : .immediate
    world.center.observe(SoakNote.self, owner: owner, on: delivery) { _, _ in
      counts.deliveries.wrappingAdd(1, ordering: .relaxed)
    }
    world.center.messages(of: SoakMove.self, about: things[1]).observe(owner: owner) { _, _ in
      counts.deliveries.wrappingAdd(1, ordering: .relaxed)
    }
    counts.registrations.wrappingAdd(2, ordering: .relaxed)
    owners.append(owner)
    if owners.count > 8 { owners.removeFirst() }
  }

  private mutating func pauseOrResume() {
    guard let token = tokens.randomElement(using: &random) else { return }
    if Bool.random(using: &random) { token.pause() } else { token.resume() }
  }

  private mutating func removeOwned() {
    guard let owner = owners.randomElement(using: &random) else { return }
    world.center.removeObservers(ownedBy: owner, of: SoakNote.self)
  }

  /// A thread that comes, observes, posts a little and goes.
  private mutating func beginThread() {
    if waits.count > 4 { waits.removeFirst()() }
    let world = world
    waits.append(
      world.onThread {
        let token = world.center.observe(SoakMove.self) { _ in
          world.counts.deliveries.wrappingAdd(1, ordering: .relaxed)
        }
        for number in 0..<8 {
          world.counts.moves.wrappingAdd(1, ordering: .relaxed)
          world.center.post(SoakMove(number: number))
        }
        withExtendedLifetime(token) {}
      })
  }
}

/// Random numbers that begin where one says (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014).
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
