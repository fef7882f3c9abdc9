import Testing

@testable import Campanile

/// What the thread-redirection recipe and LRNotificationObserver get wrong.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds B and C: redirection, and observers tied to owners", .ownThread)
struct SeedBCTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test("B2 what is queued for a dead observer is not delivered")
  func b2() {
    let target = ManualTarget()
    let other = Screen()
    center.observe(Tick.self, owner: other, on: .target(target)) { $0.heard.record($1.number) }
    func observe() {
      let screen = Screen()
      center.observe(Tick.self, owner: screen, on: .target(target)) { [heard] _, tick in
        heard.record(tick.number)
      }
      center.post(Tick(number: 1))
    }
    observe()
    target.runJobs()
    #expect(heard.values.isEmpty)
    #expect(other.heard.values == [1])
  }

  @Test("C1 an observer tied to an owner can be removed by hand")
  func c1() {
    let screen = Screen()
    let registration = center.observe(Tick.self, owner: screen) { $0.heard.record($1.number) }
    center.observe(Tick.self, owner: screen) { $0.heard.record($1.number * 10) }
    registration.cancel()
    center.post(Tick(number: 1))
    center.removeObservers(ownedBy: screen)
    center.post(Tick(number: 2))
    #expect(screen.heard.values == [10])
  }

  @Test("C2 one method with defaults: every combination of subject, owner, delivery and buffer")
  func c2() {
    let (player, screen) = (Player(), Screen())
    let deliveries = [Delivery.immediate, queue.delivery, queue.delivery.ordered]
    var tokens: [ObservationToken] = []
    for messages in [
      center.messages(of: LevelChanged.self),
      center.messages(of: LevelChanged.self, about: player),
    ] {
      for delivery in deliveries {
        tokens.append(
          messages.observe(on: delivery) { [heard] in
            heard.record($0.level)
          })
        messages.observe(owner: screen, on: delivery) {
          $0.heard.record($1.level)
        }
      }
      tokens.append(
        messages.observe(on: queue.delivery, buffering: .newest(1), .once) { [heard] in
          heard.record($0.level)
        })
    }
    center.post(LevelChanged(level: 1), about: player)
    queue.flush()
    center.post(LevelChanged(level: 2))
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values.filter { $0 == 1 }.count == 8)
    #expect(heard.values.filter { $0 == 2 }.count == 3)
    #expect(screen.heard.values.filter { $0 == 1 }.count == 6)
    #expect(screen.heard.values.filter { $0 == 2 }.count == 3)
  }

  @Test("C3 one center is used from many threads at once", arguments: [1, 2, 8])
  func c3(width: Int) {
    let screens = (0..<width).map { _ in Screen() }
    onThreads(width) { [center, queue] thread in
      let screen = screens[thread]
      for number in 0..<100 {
        let token = center.observe(Tick.self) { _ in }
        center.observe(Tick.self, owner: screen, on: queue.delivery) { $0.heard.record($1.number) }
        center.post(Tick(number: number))
        if number % 2 == 0 { center.removeObservers(ownedBy: screen) }
        _ = center.observerCount
        token.cancel()
      }
      center.removeObservers(ownedBy: screen)
    }
    queue.flush()
    #expect(center.observerCount == 0)
    for screen in screens {
      center.observe(Tick.self, owner: screen, on: queue.delivery) { $0.heard.record($1.number) }
    }
    center.post(Tick(number: 100))
    queue.flush()
    for screen in screens { #expect(screen.heard.values.filter { $0 == 100 } == [100]) }
  }

  @Test("C4 a queued block does not run after the owner died", arguments: [1, 2, 8])
  func c4(width: Int) {
    queue.hold()
    onThreads(width) { [center, heard, queue] thread in
      let screen = Screen()
      center.observe(Tick.self, owner: screen, on: queue.delivery) { _, tick in
        heard.record(tick.number)
      }
      center.post(Tick(number: thread))
    }
    queue.letGo()
    queue.flush()
    #expect(heard.values.isEmpty)
  }
}
