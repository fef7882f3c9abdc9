import Testing

@testable import Campanile

/// What typed notifications with a resource token get wrong.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds H: typed messages and tokens", .ownThread)
struct SeedHTests {
  private let center = MessageCenter()
  private let heard = Recorder<String>()
  private let queue = TestQueue()

  @Test("H1 the subject and the delivery are honored")
  func h1() {
    let (player, other) = (Player(), Player())
    let token = center.messages(of: LevelChanged.self, about: player).observe(on: queue.delivery) {
      [heard, queue] message in heard.record("\(message.level) \(queue.isCurrent)")
    }
    center.post(LevelChanged(level: 1), about: player)
    center.post(LevelChanged(level: 2), about: other)
    queue.flush()
    withExtendedLifetime((token, other)) {}
    #expect(heard.values == ["1 true"])
  }

  @Test("H2 the example of the documentation compiles and works")
  func h2() {
    struct TrackChanged: MessageCenter.Message { var title: String }
    let token = Slot<ObservationToken>()
    token.set(center.observe(TrackChanged.self) { [heard] in heard.record($0.title) })
    center.post(TrackChanged(title: "Aria"))
    token.set(nil)
    center.post(TrackChanged(title: "Gigue"))
    #expect(heard.values == ["Aria"])
  }

  @Test("H5 the message type carries both the name and the payload")
  func h5() {
    let token = center.observe(Tick.self) { [heard] tick in
      let number: Int = tick.number
      heard.record("\(number)")
    }
    center.post(Tick(number: 1))
    withExtendedLifetime(token) {}
    #expect(heard.values == ["1"])
  }

  @Test("H6 two types of one name do not collide")
  func h6() {
    let tokens = [
      center.observe(First.Changed.self) { [heard] _ in heard.record("first") },
      center.observe(Second.Changed.self) { [heard] _ in heard.record("second") },
    ]
    center.post(First.Changed())
    #expect(heard.values == ["first"])
    center.post(Second.Changed())
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["first", "second"])
  }

  @Test("H7 an observer with an owner does not keep the token's holder alive")
  func h7() {
    final class Holder: Sendable {
      let heard = Recorder<Int>()
      let registration = Slot<Registration>()
      func start(_ center: MessageCenter) {
        registration.set(
          center.observe(Tick.self, owner: self) { holder, tick in holder.heard.record(tick.number)
          })
      }
    }
    weak var weakHolder: Holder?
    func use() {
      let holder = Holder()
      weakHolder = holder
      holder.start(center)
      center.post(Tick(number: 1))
      #expect(holder.heard.values == [1])
    }
    use()
    #expect(weakHolder == nil)
    #expect(center.observerCount == 0)
  }
}

private enum First {
  struct Changed: MessageCenter.Message {}
}

private enum Second {
  struct Changed: MessageCenter.Message {}
}
