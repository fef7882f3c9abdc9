import Testing

@testable import Campanile

/// How an observer of a source is registered.
enum Form: String, CaseIterable, Codable, Sendable {
  case immediate, queued, ordered, bounded, owned, ownedAtQueue, main, ownedOnMain, actor
  case task, ownedTask, taskOnMain

  /// Whether the end of an object ends the observation.
  var hasOwner: Bool {
    switch self {
    case .owned, .ownedAtQueue, .ownedOnMain, .actor, .ownedTask: true
    default: false
    }
  }

  static let atQueue: [Form] = [.queued, .ordered, .bounded, .ownedAtQueue]
  static let withOwner = allCases.filter(\.hasOwner)
}

/// A source of numbers, of any kind, that is observed and used alike: the *door* through which a
/// promise is tested.
final class NumberSource: Sendable {
  enum Kind: String, CaseIterable, Codable, Sendable {
    case messages, aboutSubject, withSubject, anyMessage, broadcaster, transformed
    case state, mappedState, combinedState, latestMessage

    /// Whether it has a value, of which a follower is told after a pause what it missed.
    var isState: Bool {
      switch self {
      case .state, .mappedState, .combinedState, .latestMessage: true
      default: false
      }
    }

    /// Whether its observers are at a list of its own.
    var isDerivedState: Bool { isState && self != .state }

    static let withoutState = allCases.filter { !$0.isState }
    /// Those whose own lists the observers stand in.
    static let plain = allCases.filter { !$0.isDerivedState }
  }

  /// What a registration is made of.
  fileprivate struct Request: Sendable {
    let form: Form
    let isOnce: Bool
    let line: UInt
    let delivery: Delivery
    let owner: Screen?
    let actor: Statistics?
    let body: @Sendable (Int) throws -> Void
  }

  /// What an owner or an actor ends that is let go of.
  let owner = Slot<Screen>()
  let actor = Slot<Statistics>()
  let queue = TestQueue()
  /// Keeps the observations that are registered with a token.
  let bag: TokenBag
  /// Where the forms at a place deliver, by default on the queue.
  private let delivery: Delivery

  let send: @Sendable (Int) -> Void
  /// Not for states.
  let sendAndWait: @Sendable (Int) async throws -> Void
  let finish: @Sendable () -> Void
  let failures: Signal<ObserverFailure>
  let removeObservers: @Sendable (AnyObject) -> Void
  /// How many observe the source; not known of a state that is made from others.
  let observerCount: @Sendable () -> Int?
  /// The numbers, as a derived source hands them on.
  let numbers: Signal<Int>
  private let register: @Sendable (Request) -> Registration

  init(_ kind: Kind, on delivery: Delivery? = nil, bag: TokenBag = TokenBag()) {
    self.bag = bag
    self.delivery = delivery ?? queue.delivery
    owner.set(Screen())
    actor.set(Statistics())
    let (center, player) = (MessageCenter(), Player())
    let (ticks, state, other) = (Broadcaster<Int>(), CurrentValue(0), CurrentValue(0))
    switch kind {
    case .messages, .withSubject, .anyMessage, .latestMessage:
      send = { center.post(Tick(number: $0)) }
      sendAndWait = { try await center.postAndWait(Tick(number: $0)) }
    case .aboutSubject:
      send = { center.post(LevelChanged(level: $0), about: player) }
      sendAndWait = { try await center.postAndWait(LevelChanged(level: $0), about: player) }
    case .broadcaster, .transformed:
      send = { ticks.send($0) }
      sendAndWait = { try await ticks.sendAndWait($0) }
    case .state, .mappedState, .combinedState:
      send = { state.value = $0 }
      sendAndWait = { state.value = $0 }
    }
    switch kind {
    case .messages, .aboutSubject, .withSubject, .anyMessage, .latestMessage:
      finish = { center.finish() }
      failures = center.failures
      removeObservers = { center.removeObservers(ownedBy: $0) }
      observerCount = { kind == .latestMessage ? nil : center.observerCount }
    case .broadcaster, .transformed:
      finish = { ticks.finish() }
      failures = ticks.failures
      removeObservers = { ticks.removeObservers(ownedBy: $0) }
      observerCount = { ticks.observerCount }
    case .state, .mappedState, .combinedState:
      finish = {
        state.finish()
        other.finish()
      }
      failures = state.failures
      removeObservers = { state.removeObservers(ownedBy: $0) }
      observerCount = { kind == .state ? state.observerCount : nil }
    }
    func connect<Source: ObservationSource>(
      _ source: Source, _ number: @escaping @Sendable (Source.Element) -> Int
    ) -> (Signal<Int>, @Sendable (Request) -> Registration) {
      (source.map(number), { [bag] in $0.register(at: source, bag, number) })
    }
    (numbers, register) =
      switch kind {
      case .messages: connect(center.messages(of: Tick.self), \.number)
      case .aboutSubject:
        connect(center.messages(of: LevelChanged.self, about: player), \.level)
      case .withSubject:
        connect(center.messages(of: Tick.self).withSubject) { $0.message.number }
      case .anyMessage: connect(center.anyMessage) { ($0.message as? Tick)?.number ?? -1 }
      case .broadcaster: connect(ticks) { $0 }
      case .transformed:
        connect(ticks.map { "\($0)" }.filter { $0 != "none" }.compactMap { Int($0) }) { $0 }
      case .state: connect(state) { $0 }
      case .mappedState: connect(state.map { "\($0)" }) { Int($0) ?? -1 }
      case .combinedState: connect(state.combined(with: other)) { $0.0 }
      case .latestMessage: connect(center.latest(of: Tick.self)) { $0?.number ?? -1 }
      }
  }

  /// Observes; what is registered with a token is ended by the bag.
  ///
  /// `body` is called where the form says, which is checked.
  @discardableResult
  func observe(
    _ form: Form, once: Bool = false, line: UInt = #line,
    _ body: @escaping @Sendable (Int) throws -> Void
  ) -> Registration {
    register(
      Request(
        form: form, isOnce: once, line: line, delivery: delivery, owner: owner.value,
        actor: actor.value, body: body))
  }

  /// Returns when what waits on the queue, the main actor and the actor has had its turn.
  func settle() async {
    // Twice, because a job that runs meanwhile may put itself behind the first.
    for _ in 0..<2 {
      queue.flush()
      await MainActor.run {}
      _ = await actor.value?.numbers
    }
  }
}

extension NumberSource.Request {
  fileprivate func register<Source: ObservationSource>(
    at source: Source, _ bag: TokenBag, _ number: @escaping @Sendable (Source.Element) -> Int
  ) -> Registration {
    let options: ObservationOptions<Source> = isOnce ? .once : []
    // The request is not captured: it keeps the owner.
    let body = body
    let callAtPlace: @Sendable (Int) throws -> Void = { [delivery, body] number in
      #expect(delivery.isCurrent)
      try body(number)
    }
    let token: ObservationToken? =
      switch form {
      case .immediate: source.observe(options: options, line: line) { try body(number($0)) }
      case .queued:
        source.observe(on: delivery, options: options, line: line) { try callAtPlace(number($0)) }
      case .ordered:
        source.observe(on: delivery.ordered, options: options, line: line) {
          try callAtPlace(number($0))
        }
      case .bounded:
        source.observe(on: delivery.buffered(.newest(10_000)), options: options, line: line) {
          try callAtPlace(number($0))
        }
      case .main:
        source.observe(on: .main, options: options, line: line) {
          MainActor.assertIsolated()
          try body(number($0))
        }
      case .task:
        source.observeAsync(options: options, line: line) {
          await Task.yield()
          try body(number($0))
        }
      case .taskOnMain:
        source.observeAsync(options: options, line: line) { @MainActor in
          await Task.yield()
          MainActor.assertIsolated()
          try body(number($0))
        }
      default: nil
      }
    if let token {
      bag.insert(token)
      return token.registration
    }
    let owner = owner!
    let actor = actor!
    return switch form {
    case .ownedAtQueue:
      source.observe(owner: owner, on: delivery, options: options, line: line) {
        try callAtPlace(number($1))
      }
    case .ownedOnMain:
      source.observe(owner: owner, on: .main, options: options, line: line) {
        MainActor.assertIsolated()
        try body(number($1))
      }
    case .actor:
      source.observe(on: actor, options: options, line: line) {
        $0.assertIsolated()
        try body(number($1))
      }
    case .ownedTask:
      source.observeAsync(owner: owner, options: options, line: line) {
        await Task.yield()
        try body(number($1))
      }
    default:
      source.observe(owner: owner, options: options, line: line) { try body(number($1)) }
    }
  }
}
