import Campanile
import CampanileKVO
import Observation
import Synchronization

typealias OwnerLifetime = Lifetime
extension Owner: LifetimeOwner {}

extension Implementation {
  private static let common: Set<Ability> = [
    .queues, .owners, .ownersOnQueues, .lifetimes, .waiting, .pausing, .bounds, .throwing,
  ]

  static let messageCenter = Implementation(
    name: "MessageCenter",
    abilities: common.union([
      .subjects, .wildcards, .concurrency, .postAndWait, .nesting, .listing,
    ]), patience: 200
  ) { CenterSource() }

  static let broadcaster = Implementation(
    name: "Broadcaster",
    abilities: common.union([.concurrency, .postAndWait, .nesting, .listing]),
    patience: 200
  ) { BroadcasterSource() }

  static let currentValue = Implementation(
    name: "CurrentValue", abilities: common.union([.concurrency, .state, .listing]),
    patience: 200
  ) { ValueSource() }

  static let keyValueObserving = Implementation(
    name: "Key-value observing", abilities: common.union([.concurrency]), patience: 200
  ) { PropertySource() }
}

extension Wish {
  var delivery: Delivery { place.map { .queue($0.queue) } ?? .immediate }
  var buffering: Buffering { newest.map { .newest($0) } ?? .unbounded }
}

extension Handle {
  init(_ token: ObservationToken) {
    self.init(
      cancel: { token.cancel() }, cancelAndWait: { _ = token.cancelAndWait() },
      isActive: { token.isActive },
      pause: { token.pause() }, resume: { token.resume() })
  }

  init(_ registration: Registration) {
    self.init(
      cancel: { registration.cancel() }, cancelAndWait: { _ = registration.cancelAndWait() },
      isActive: { registration.isActive },
      pause: { registration.pause() }, resume: { registration.resume() })
  }
}

/// A message that may be about a bell.
private struct Rung: MessageCenter.Message {
  typealias Subject = Bell
  let number: Int
}

private final class CenterSource: Source {
  private let center = MessageCenter()
  private let failures: ObservationToken

  init() { failures = center.failures.observe { _ in } }

  func post(_ number: Int) { center.post(Rung(number: number)) }
  func post(_ number: Int, about subject: Bell) {
    center.post(Rung(number: number), about: subject)
  }
  func postAndWait(_ number: Int) async throws {
    try await center.postAndWait(Rung(number: number))
  }
  var listedCount: Int { center.observerCount }

  func observe(_ wish: Wish, _ observer: @escaping @Sendable (Int) throws -> Void) -> Handle {
    if wish.isWildcard {
      return Handle(
        center.anyMessage.observe(on: wish.delivery.buffered(wish.buffering)) { posted in
          if let rung = posted.message as? Rung { try observer(rung.number) }
        })
    }
    let source =
      if let subject = wish.subject { center.messages(of: Rung.self, about: subject) } else {
        center.messages(of: Rung.self)
      }
    return follow(source, wish, []) { try observer($0.number) }
  }
}

/// Observes a source of this package's the way the wish says.
private func follow<S: ObservationSource>(
  _ source: S, _ wish: Wish, _ options: ObservationOptions<S>,
  _ observer: @escaping @Sendable (S.Element) throws -> Void
) -> Handle {
  if let owner = wish.owner {
    return Handle(
      source.observe(
        owner: owner, on: wish.delivery.buffered(wish.buffering), options: options
      ) { (_: Owner, value: S.Element) in try observer(value) })
  }
  return Handle(
    source.observe(on: wish.delivery.buffered(wish.buffering), options: options) {
      (value: S.Element) in
      try observer(value)
    })
}

private final class BroadcasterSource: Source {
  private let numbers = Broadcaster<Int>()
  private let failures: ObservationToken

  init() { failures = numbers.failures.observe { _ in } }

  func post(_ number: Int) { numbers.send(number) }
  func postAndWait(_ number: Int) async throws { try await numbers.sendAndWait(number) }
  var listedCount: Int { numbers.observerCount }

  func observe(_ wish: Wish, _ observer: @escaping @Sendable (Int) throws -> Void) -> Handle {
    follow(numbers, wish, [], observer)
  }
}

private final class ValueSource: Source {
  private let number = CurrentValue(0)
  private let failures: ObservationToken

  init() { failures = number.failures.observe { _ in } }

  func post(_ number: Int) { self.number.value = number }
  var listedCount: Int { number.observerCount }

  func observe(_ wish: Wish, _ observer: @escaping @Sendable (Int) throws -> Void) -> Handle {
    follow(number, wish, wish.isInitial ? [.initial] : [], observer)
  }
}

/// A number that any thread may set.
private final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let stored = Mutex(0)

  var number: Int {
    get { registrar.get(self, \.number, in: stored) }
    set { registrar.set(self, \.number, in: stored, to: newValue) }
  }
}

private final class PropertySource: Source {
  private let counter = Counter()

  func post(_ number: Int) { counter.number = number }

  func observe(_ wish: Wish, _ observer: @escaping @Sendable (Int) throws -> Void) -> Handle {
    follow(counter.changes(of: \.number, options: wish.isInitial ? .initial : []), wish, []) {
      try observer($0.new)
    }
  }
}
