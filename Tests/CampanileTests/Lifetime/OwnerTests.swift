import Dispatch
import Testing

@testable import Campanile

@Suite("K8: owners", .ownThread)
struct OwnerTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test("K8 A12 H7 A method reference is an observer, and its target is held weakly")
  func methodReference() {
    final class Target: Sendable {
      let heard: Recorder<Int>
      init(_ heard: Recorder<Int>) { self.heard = heard }
      @Sendable func take(_ tick: Tick) { heard.record(tick.number) }
    }
    weak var weakTarget: Target?
    func observe() {
      let target = Target(heard)
      weakTarget = target
      center.observe(Tick.self, owner: target) { Target.take($0)($1) }
      center.post(Tick(number: 1))
      withExtendedLifetime(target) {}
    }
    observe()
    center.post(Tick(number: 2))
    #expect(heard.values == [1])
    #expect(weakTarget == nil)
  }

  @Test("K8 an owner is kept alive for the length of a call")
  func keptDuringCall() {
    let slot = Slot<Screen>()
    weak var weakScreen: Screen?
    func observe() {
      let screen = Screen()
      weakScreen = screen
      slot.set(screen)
      center.observe(Tick.self, owner: screen) { [heard] screen, tick in
        slot.set(nil)
        screen.heard.record(tick.number)
        heard.record(screen.heard.count)
      }
    }
    observe()
    center.post(Tick(number: 1))
    #expect(heard.values == [1])
    #expect(weakScreen == nil)
  }

  @Test("K8 an owner is never called once its deinit has begun")
  func inDeinit() {
    final class Dying: Sendable {
      let center: MessageCenter
      init(_ center: MessageCenter) { self.center = center }
      deinit { center.post(Tick(number: 1)) }
    }
    func observe() {
      let dying = Dying(center)
      center.observe(Tick.self, owner: dying) { [heard] _, tick in heard.record(tick.number) }
    }
    observe()
    #expect(heard.values.isEmpty)
  }

  @Test("K8 with a lifetime everything goes at the owner's deinit")
  func lifetime() {
    let live = LiveCount()
    var registrations: [Registration] = []
    func observe() {
      let room = Room()
      for delivery in [Delivery.immediate, queue.delivery, .queue(.main)] {
        registrations.append(
          center.observe(Tick.self, owner: room, on: delivery) { [tracked = Tracked(live)] _, _ in
            tracked.touch()
          })
      }
      registrations.append(
        center.observe(Tick.self, owner: room, on: queue.delivery.buffered(.newest(1))) {
          [tracked = Tracked(live)] _, _ in tracked.touch()
        })
      #expect(live.current == 4)
      withExtendedLifetime(room) {}
    }
    observe()
    #expect(live.current == 0)
    #expect(registrations.allSatisfy { $0.cancel() == .alreadyEnded })
  }

  @Test("K8 an actor that dies with a delivery on its way ends its registration")
  func actorWithPending() async throws {
    actor Short {
      let end: OnRelease
      init(_ end: OnRelease) { self.end = end }
    }
    let ended = Inbox<Int>()
    func observe() -> Task<Void, any Error> {
      let short = Short(OnRelease { ended.record(1) })
      center.observe(Tick.self, on: short) { _, _ in }
      return Task { [center] in try await center.postAndWait(Tick(number: 1)) }
    }
    try await observe().value
    // The delivery may have come first, and its task keeps the actor a moment longer then.
    _ = await ended.values(count: 1)
    #expect(center.observerCount == 0)
  }

  @Test("K8 an owner that is its own subject ends its registration")
  func ownSubject() {
    struct Changed: MessageCenter.Message { typealias Subject = Screen }
    weak var weakScreen: Screen?
    func observe() {
      let screen = Screen()
      weakScreen = screen
      center.messages(of: Changed.self, about: screen).observe(owner: screen) { screen, _ in
        screen.heard.record(1)
      }
      center.post(Changed(), about: screen)
      #expect(screen.heard.values == [1])
    }
    observe()
    #expect(weakScreen == nil)
    #expect(center.observerCount == 0)
  }
}
