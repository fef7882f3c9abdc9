import Campanile

/// Plays sequences with a source.
///
/// What happens is written down in the order in which it happens: the places are run one at a time,
/// and the test waits for the queue.
final class Machine: Sendable {
  /// A message with a number.
  struct Numbered: MessageCenter.Message {
    typealias Subject = Player
    let number: Int
  }

  /// How one kind of source is used.
  struct Face: Sendable {
    let post: @Sendable (Int, Player?) -> Void
    let observe:
      @Sendable (Spec, Delivery, Player?, OwnerKind?, @escaping @Sendable (Int) -> Void) -> Held
    let endAll: @Sendable (OwnerKind) -> Void
    let liveCount: @Sendable () -> Int
  }

  /// What keeps a registration.
  enum Held: Sendable {
    case token(ObservationToken)
    case registration(Registration)

    var registration: Registration {
      switch self {
      case .token(let token): token.registration
      case .registration(let registration): registration
      }
    }
  }

  /// An owner whose end is noticed at once, or by and by.
  enum OwnerKind: Sendable {
    case plain(Player)
    case living(Room)

    init(_ number: Int) { self = number == 0 ? .living(Room()) : .plain(Player()) }
  }

  private struct State {
    var slots: [Int: Held] = [:]
    var owners = (0..<Sequence.ownerCount).map { OwnerKind($0) }
    var lastID = -1
  }

  private let face: Face
  private let log = Recorder<String>()
  private let state = Locked(State())
  private let subjects = (0..<Sequence.subjectCount).map { _ in Player() }
  private let manuals = (0..<Sequence.placeCount - 1).map { _ in ManualDelivery() }
  private let queue = TestQueue("model")

  init(_ face: Face) {
    self.face = face
    queue.hold()
    for place in 0..<Sequence.placeCount { add(Spec(slot: -1 - place, place: place)) }
  }

  deinit { queue.letGo() }

  var heard: [String] { log.values }
  var liveCount: Int { face.liveCount() }

  func play(_ step: Step) {
    switch step {
    case .observe(let spec): add(spec)
    case .cancel(let slot):
      guard let held = held(in: slot) else { return }
      let result = held.registration.cancel()
      // Whether the registration of an owner that has died has been cleared away is not promised.
      if case .token = held {
        log.record("cancel \(slot): \(result == .alreadyEnded ? "late" : "now")")
      }
    case .pause(let slot): held(in: slot)?.registration.pause()
    case .resume(let slot): held(in: slot)?.registration.resume()
    case .release(let owner):
      let old = state.withLock { state in
        defer { state.owners[owner] = OwnerKind(owner) }
        return state.owners[owner]
      }
      withExtendedLifetime(old) {}
    case .endAll(let owner): face.endAll(state.withLock { $0.owners[owner] })
    case .post(let number, let subject): post(number, subject)
    case .postOn(let place, let number, let subject):
      run(place, all: true)
      if place < manuals.count {
        manuals[place].run { post(number, subject) }
      } else {
        queue.letGo()
        queue.run { post(number, subject) }
        queue.flush()
        queue.hold()
      }
    case .runNext(let place): run(place, all: false)
    case .runAll(let place): run(place, all: true)
    }
  }

  private func held(in slot: Int) -> Held? { state.withLock { $0.slots[slot] } }

  private func post(_ number: Int, _ subject: Int?) {
    face.post(number, subject.map { subjects[$0] })
  }

  private func run(_ place: Int, all: Bool) {
    if place < manuals.count {
      if all { manuals[place].runAll() } else { manuals[place].runNext() }
    } else {
      queue.letGo()
      queue.flush()
      queue.hold()
    }
  }

  private func add(_ spec: Spec) {
    let (id, owner) = state.withLock { state in
      state.lastID += 1
      return (state.lastID, spec.owner.map { state.owners[$0] })
    }
    let delivery: Delivery =
      switch spec.place {
      case nil: .immediate
      case .some(let place) where place < manuals.count: manuals[place].delivery
      case .some: queue.delivery
      }
    var subject: Player?
    if case .subject(let number) = spec.scope { subject = subjects[number] }
    let calls = LiveCount()
    let held = face.observe(spec, delivery, subject, owner) { [weak self] number in
      self?.call(id, spec, calls, number)
    }
    let old = state.withLock { state in
      defer { state.slots[spec.slot] = held }
      return state.slots[spec.slot]
    }
    // A token ends here, in whatever call that is.
    withExtendedLifetime(old) {}
  }

  private func call(_ id: Int, _ spec: Spec, _ calls: LiveCount, _ number: Int) {
    log.record("\(id) hears \(number)")
    calls.increment()
    if calls.current == spec.reactsInCall + 1 { spec.reaction.forEach(play) }
    log.record("\(id) ends")
  }
}

extension Machine.Face {
  static var center: Self {
    let center = MessageCenter()
    return Self(
      post: { number, subject in
        let message = Machine.Numbered(number: number)
        if let subject { center.post(message, about: subject) } else { center.post(message) }
      },
      observe: { spec, delivery, subject, owner, observer in
        if spec.scope == .wild {
          return .token(
            center.anyMessage.observe(on: delivery, options: spec.isOnce ? .once : []) {
              if let message = $0.message as? Machine.Numbered { observer(message.number) }
            })
        }
        let messages =
          if let subject {
            center.messages(of: Machine.Numbered.self, about: subject)
          } else {
            center.messages(of: Machine.Numbered.self)
          }
        return follow(messages, spec.isOnce ? .once : [], delivery, owner) { observer($0.number) }
      },
      endAll: { center.removeObservers(ownedBy: $0.object) },
      liveCount: { center.observerCount })
  }

  static var broadcaster: Self {
    let numbers = Broadcaster<Int>()
    return Self(
      post: { number, _ in numbers.send(number) },
      observe: { spec, delivery, _, owner, observer in
        follow(numbers, spec.isOnce ? .once : [], delivery, owner, observer)
      },
      endAll: { numbers.removeObservers(ownedBy: $0.object) },
      liveCount: { numbers.observerCount })
  }

  static var currentValue: Self {
    let number = CurrentValue(0)
    return Self(
      post: { new, _ in number.value = new },
      observe: { spec, delivery, _, owner, observer in
        var options: ObservationOptions<CurrentValue<Int>> = []
        if spec.isInitial { options = .initial }
        if spec.isOnce { options = .once }
        return follow(number, options, delivery, owner) { observer($0) }
      },
      endAll: { number.removeObservers(ownedBy: $0.object) },
      liveCount: { number.observerCount })
  }

  private static func follow<S: ObservationSource>(
    _ source: S, _ options: ObservationOptions<S>, _ delivery: Delivery,
    _ owner: Machine.OwnerKind?,
    _ observer: @escaping @Sendable (S.Element) -> Void
  ) -> Machine.Held {
    switch owner {
    case nil: return .token(source.observe(on: delivery, options: options) { observer($0) })
    case .plain(let owner):
      return .registration(
        source.observe(owner: owner, on: delivery, options: options) {
          (_: Player, value: S.Element) in observer(value)
        })
    case .living(let owner):
      return .registration(
        source.observe(owner: owner, on: delivery, options: options) {
          (_: Room, value: S.Element) in observer(value)
        })
    }
  }
}

extension Machine.OwnerKind {
  var object: any AnyObject & Sendable {
    switch self {
    case .plain(let owner): owner
    case .living(let owner): owner
    }
  }
}
