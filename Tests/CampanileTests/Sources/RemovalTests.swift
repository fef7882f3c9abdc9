import Testing

@testable import Campanile

@Suite("Removing observers", .eachKindOfSubject, .ownThread)
struct RemovalTests {
  private let center = MessageCenter()
  private let queue = TestQueue()
  private let screen = Screen()
  private let other = Screen()
  private let player = Player()
  private let rival = Player()
  private let token: ObservationToken

  /// Every kind of registration, each adding a digit of its own.
  init() {
    for (owner, sign) in [(screen, 1), (other, -1)] {
      center.observe(Tick.self, owner: owner) { owner, _ in owner.heard.record(sign * 1) }
      center.observe(LevelChanged.self, owner: owner) { owner, _ in owner.heard.record(sign * 2) }
      center.messages(of: LevelChanged.self, about: player).observe(owner: owner) { owner, _ in
        owner.heard.record(sign * 3)
      }
      center.messages(of: LevelChanged.self, about: rival).observe(owner: owner) { owner, _ in
        owner.heard.record(sign * 4)
      }
      center.messages(of: LevelChanged.self, about: player).observe(
        owner: owner, on: queue.delivery
      ) {
        owner, _ in owner.heard.record(sign * 5)
      }
      center.observe(LevelChanged.self, owner: owner, on: queue.delivery) { owner, _ in
        owner.heard.record(sign * 6)
      }
      center.messages(of: LevelChanged.self, about: player).observe(
        owner: owner, on: queue.delivery.buffered(.newest(1))
      ) { owner, _ in owner.heard.record(sign * 7) }
      center.anyMessage.observe(owner: owner) { owner, _ in owner.heard.record(sign * 8) }
    }
    token = center.observe(Tick.self) { _ in }
  }

  private func postAll() {
    center.post(Tick(number: 1))
    center.post(LevelChanged(level: 1), about: player)
    center.post(LevelChanged(level: 1), about: rival)
    queue.flush()
  }

  /// What an owner with every kind of registration hears.
  private let all: Set = [1, 2, 3, 4, 5, 6, 7, 8]

  private func expect(_ heard: Set<Int>, count: Int) {
    postAll()
    #expect(Set(screen.heard.values) == heard)
    #expect(Set(other.heard.values) == Set(all.map { -$0 }))
    #expect(center.observerCount == count)
    #expect(token.isActive)
  }

  @Test("By owner, type and subject: another type about that subject stays")
  func otherType() {
    struct TuneChanged: MessageCenter.Message { typealias Subject = Player }
    let tuned = center.messages(of: TuneChanged.self, about: player).observe(owner: screen) {
      _, _ in
    }
    let level = center.messages(of: LevelChanged.self, about: player).observe(owner: screen) {
      _, _ in
    }
    center.removeObservers(ownedBy: screen, of: LevelChanged.self, about: player)
    #expect(tuned.isActive && !level.isActive)
  }

  @Test("By owner: everything of that owner and nothing else")
  func byOwner() {
    center.removeObservers(ownedBy: screen)
    expect([], count: 9)
  }

  @Test("By owner and type: that type about any subject, and nothing else")
  func byType() {
    center.removeObservers(ownedBy: screen, of: LevelChanged.self)
    expect([1, 8], count: 11)
  }

  @Test("A11 D2 By owner, type and subject: that subject alone")
  func bySubject() {
    center.removeObservers(ownedBy: screen, of: LevelChanged.self, about: player)
    expect([1, 2, 4, 6, 8], count: 14)
  }

  @Test("C1 D3 By registration: that one")
  func byRegistration() {
    let registration = center.observe(Tick.self, owner: screen) { $0.heard.record($1.number * 9) }
    #expect(registration.cancel() == .ended)
    #expect(registration.cancel() == .alreadyEnded)
    expect(all, count: 17)
  }

  @Test("By an owner, a type or a subject without observers: nothing")
  func nothing() {
    center.removeObservers(ownedBy: Player())
    center.removeObservers(ownedBy: screen, of: Tock.self)
    center.removeObservers(ownedBy: screen, of: LevelChanged.self, about: Player())
    expect(all, count: 17)
  }

  @Test("What is queued is not delivered after the removal")
  func queued() {
    queue.hold()
    center.post(LevelChanged(level: 1), about: player)
    center.removeObservers(ownedBy: screen)
    queue.letGo()
    queue.flush()
    #expect(Set(screen.heard.values) == [2, 3, 8])
    #expect(Set(other.heard.values) == [-2, -3, -5, -6, -7, -8])
  }
}
