import Dispatch
import Testing

@testable import Campanile

/// What YFLNotificationCenter, a center built from scratch, gets wrong.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds E: a center from scratch", .ownThread)
struct SeedETests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test("E1 a block observer can be removed")
  func e1() {
    let token = center.observe(Tick.self) { [heard] in heard.record($0.number) }
    center.post(Tick(number: 1))
    #expect(token.cancel() == .ended)
    center.post(Tick(number: 2))
    #expect(heard.values == [1])
  }

  @Test("E2 a block observer without a queue fires")
  func e2() {
    let token = center.observe(Tick.self) { [heard] in heard.record($0.number) }
    center.post(Tick(number: 1))
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("E3 observers are held weakly, so that their deinit runs and removes them")
  func e3() {
    final class Removing: Sendable {
      let center: MessageCenter
      let heard: Recorder<Int>
      init(_ center: MessageCenter, _ heard: Recorder<Int>) {
        self.center = center
        self.heard = heard
      }
      deinit {
        center.removeObservers(ownedBy: self)
        heard.record(-1)
      }
    }
    func observe() {
      let removing = Removing(center, heard)
      center.observe(Tick.self, owner: removing) { $0.heard.record($1.number) }
      center.post(Tick(number: 1))
      withExtendedLifetime(removing) {}
    }
    observe()
    center.post(Tick(number: 2))
    #expect(heard.values == [1, -1])
  }

  @Test("E4 the subject filter is honored, on every delivery")
  func e4() {
    let (one, other) = (Player(), Player())
    let tokens = [
      center.messages(of: LevelChanged.self, about: one).observe { [heard] in heard.record($0.level)
      },
      center.messages(of: LevelChanged.self, about: one).observe(on: queue.delivery) { [heard] in
        heard.record($0.level * 10)
      },
    ]
    center.post(LevelChanged(level: 1), about: other)
    center.post(LevelChanged(level: 2), about: one)
    center.post(LevelChanged(level: 3))
    queue.flush()
    withExtendedLifetime((tokens, other)) {}
    #expect(heard.values.sorted() == [2, 20])
  }

  @Test("E5 an observer of no particular type hears them all")
  func e5() {
    let token = center.anyMessage.observe { [heard] posted in
      heard.record((posted.message as? Tick)?.number ?? 0)
    }
    center.post(Tick(number: 1))
    center.post(Tock())
    center.post(LevelChanged(level: 1), about: Player())
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, 0, 0])
  }

  @Test("E6 safe from any thread and from inside observers", arguments: [1, 2, 8])
  func e6(width: Int) {
    let token = center.observe(Tick.self) { [center] tick in
      let token = center.observe(Tick.self) { _ in }
      if tick.number > 0 { center.post(Tick(number: tick.number - 1)) }
      token.cancel()
    }
    onThreads(width) { [center] _ in
      for _ in 0..<50 { center.post(Tick(number: 3)) }
    }
    #expect(center.observerCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test("E7 each observer hears in order, also on a concurrent queue")
  func e7() async {
    let queue = TestQueue(attributes: .concurrent)
    let inbox = Inbox<Int>()
    let token = center.observe(Tick.self, on: queue.delivery) { inbox.record($0.number) }
    for number in 0..<500 { center.post(Tick(number: number)) }
    #expect(await inbox.values(count: 500) == Array(0..<500))
    withExtendedLifetime(token) {}
  }

  @Test("E8 a message can be posted so that it is delivered later, in order")
  func e8() {
    let token = center.observe(Tick.self, on: queue.delivery.ordered) { [heard] in
      heard.record($0.number)
    }
    queue.run {
      for number in 0..<3 { center.post(Tick(number: number)) }
      #expect(heard.values.isEmpty)
    }
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == [0, 1, 2])
  }
}
