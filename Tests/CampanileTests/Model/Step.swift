/// What a registration hears.
enum Scope: Sendable, Equatable {
  case every
  case subject(Int)
  case wild
}

/// What a step of a random sequence does.
///
/// Slots, subjects, owners and places are numbers, so that a sequence can be played by a source as by
/// the model.
enum Step: Sendable {
  /// Registers, and keeps the result in a slot; a token that was there is released.
  case observe(Spec)
  case cancel(slot: Int)
  case pause(slot: Int)
  case resume(slot: Int)
  /// Lets go of an owner; another one takes its number.
  case release(owner: Int)
  case endAll(owner: Int)
  case post(Int, about: Int?)
  /// Posts by code that is on a place where nothing waits.
  case postOn(place: Int, Int, about: Int?)
  case runNext(place: Int)
  case runAll(place: Int)
}

/// What one observer is like.
struct Spec: Sendable {
  var slot: Int
  var scope = Scope.every
  /// Where it runs; immediate without.
  var place: Int?
  var isOnce = false
  var isInitial = false
  var owner: Int?
  /// What the observer does, in which of its calls.
  var reaction: [Step] = []
  var reactsInCall = 0
}

/// What sequences a source can play.
struct Abilities: Sendable {
  var hasSubjects = false
  var hasInitialCalls = false
}

/// Sequences of steps, made from a seed.
struct Sequence: CustomStringConvertible {
  static let slotCount = 8
  static let subjectCount = 2
  static let ownerCount = 3
  /// Two manual deliveries and a queue.
  static let placeCount = 3

  let seed: UInt64
  private(set) var steps: [Step] = []
  private var random: SeededGenerator
  private let abilities: Abilities
  private var lastNumber = 0

  init(seed: UInt64, count: Int, _ abilities: Abilities) {
    self.seed = seed
    self.abilities = abilities
    random = SeededGenerator(seed)
    while steps.count < count { steps.append(makeStep()) }
    // What waits is delivered in the end.
    steps += (0..<Self.placeCount).map { .runAll(place: $0) }
  }

  private mutating func makeStep() -> Step {
    switch random.below(12) {
    case 0, 1: .runNext(place: random.below(Self.placeCount))
    case 2: .runAll(place: random.below(Self.placeCount))
    case 3: makePost(on: random.below(Self.placeCount))
    default: makeInnerStep(depth: 0)
    }
  }

  /// A step that an observer may do as well.
  private mutating func makeInnerStep(depth: Int) -> Step {
    switch random.below(16) {
    case 0..<5: .observe(makeSpec(depth: depth))
    case 5, 6: .cancel(slot: random.below(Self.slotCount))
    case 7: .pause(slot: random.below(Self.slotCount))
    case 8, 9: .resume(slot: random.below(Self.slotCount))
    case 10: .release(owner: random.below(Self.ownerCount))
    case 11 where random.once(in: 3): .endAll(owner: random.below(Self.ownerCount))
    default: makePost(on: nil)
    }
  }

  private mutating func makePost(on place: Int?) -> Step {
    lastNumber += 1
    let subject =
      abilities.hasSubjects && random.once(in: 2) ? random.below(Self.subjectCount) : nil
    if let place { return .postOn(place: place, lastNumber, about: subject) }
    return .post(lastNumber, about: subject)
  }

  private mutating func makeSpec(depth: Int) -> Spec {
    var spec = Spec(slot: random.below(Self.slotCount))
    if abilities.hasSubjects {
      spec.scope = [.every, .every, .subject(0), .subject(1), .wild][random.below(5)]
    }
    if random.once(in: 2) { spec.place = random.below(Self.placeCount) }
    spec.isInitial = abilities.hasInitialCalls && random.once(in: 3)
    spec.isOnce = !spec.isInitial && random.once(in: 6)
    if spec.scope != .wild && random.once(in: 3) { spec.owner = random.below(Self.ownerCount) }
    if depth < 3 && random.once(in: 2) {
      // What an initial call does is in tests of its own.
      spec.reactsInCall = random.below(3) + (spec.isInitial ? 1 : 0)
      spec.reaction = (0...random.below(3)).map { _ in makeInnerStep(depth: depth + 1) }
    }
    return spec
  }

  /// The seed, and the steps, one in a line.
  var description: String {
    "seed \(seed):\n" + steps.enumerated().map { "  \($0): \($1)" }.joined(separator: "\n")
  }
}
