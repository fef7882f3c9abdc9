import Testing

@testable import Campanile

@Suite("The identity of subjects", .eachKindOfSubject, .ownThread)
struct SubjectIdentityTests {
  /// Equal to every other, as far as `==` can tell.
  private final class Twin: Sendable, Hashable {
    static func == (one: Twin, other: Twin) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  private struct TwinChanged: MessageCenter.Message {
    typealias Subject = Twin
  }

  @Test("K9 Subjects are told apart by identity, equal or not", arguments: widths)
  func identity(width: Int) {
    let center = MessageCenter()
    let heard = Recorder<Int>()
    let twins = (0..<width).map { _ in Twin() }
    let tokens = twins.enumerated().map { index, twin in
      center.messages(of: TwinChanged.self, about: twin).observe { _ in heard.record(index) }
    }
    onThreads(width) { index in
      for _ in 0...index { center.post(TwinChanged(), about: twins[index]) }
    }
    for index in 0..<width { #expect(heard.values.count { $0 == index } == index + 1) }
    withExtendedLifetime(tokens) {}
  }

  @Test(
    "K9 A post without a subject does not reach observers of one, a post about another neither",
    arguments: widths)
  func filtered(width: Int) {
    let center = MessageCenter()
    let player = Player()
    let heard = Recorder<String>()
    let about = center.messages(of: LevelChanged.self, about: player).observe { _ in
      heard.record("about")
    }
    let any = center.observe(LevelChanged.self) { _ in heard.record("any") }
    onThreads(width) { _ in
      center.post(LevelChanged(level: 1))
      center.post(LevelChanged(level: 2), about: Player())
    }
    #expect(heard.values == Array(repeating: "any", count: width * 2))
    onThreads(width) { _ in center.post(LevelChanged(level: 3), about: player) }
    #expect(heard.values.count { $0 == "about" } == width)
    #expect(heard.values.count { $0 == "any" } == width * 3)
    withExtendedLifetime((about, any)) {}
  }

  @Test(
    "K9 No new object is taken for a dead subject while it has registrations", arguments: widths)
  func shell(width: Int) {
    let center = MessageCenter()
    let heard = Recorder<Int>()
    onThreads(width) { _ in
      var tokens: [ObservationToken] = []
      for index in 0..<20 {
        // Dies right here; what takes its memory would be the next player.
        tokens.append(
          center.messages(of: LevelChanged.self, about: Player()).observe { _ in heard.record(index)
          })
        for _ in 0..<20 { center.post(LevelChanged(level: index), about: Player()) }
      }
      withExtendedLifetime(tokens) {}
    }
    #expect(heard.count == 0)
    #expect(center.observerCount == 0)
  }

  @Test("K9 A dead subject's shell stays for the registration that ends last")
  func lastOfTwo() {
    let center = MessageCenter()
    let heard = Recorder<String>()
    var player: Player? = Player()
    let first = center.messages(of: LevelChanged.self, about: player!).observe { _ in
      heard.record("first")
    }
    let second = center.messages(of: LevelChanged.self, about: player!).observe { _ in
      heard.record("second")
    }
    let key = ObjectIdentifier(player!)
    player = nil
    first.cancel()
    for _ in 0..<100 {
      let other = Player()
      if SubjectKind.current == .native { #expect(ObjectIdentifier(other) != key) }
      center.post(LevelChanged(level: 0), about: other)
    }
    second.cancel()
    #expect(heard.count == 0)
  }

  @Test(
    "K9 A subject with a lifetime ends its registrations with it, and is not kept",
    arguments: widths)
  func lifetime(width: Int) {
    final class Deck: LifetimeOwner {
      let lifetime = Lifetime()
      let tracked: Tracked
      init(_ tracked: Tracked) { self.tracked = tracked }
    }
    struct Moved: MessageCenter.Message { typealias Subject = Deck }
    let center = MessageCenter()
    let (decks, closures) = (LiveCount(), LiveCount())
    onThreads(width) { _ in
      var tokens: [ObservationToken] = []
      for _ in 0..<50 {
        let deck = Deck(Tracked(decks))
        let tracked = Tracked(closures)
        tokens.append(center.messages(of: Moved.self, about: deck).observe { _ in tracked.touch() })
        center.post(Moved(), about: deck)
      }
      for token in tokens { #expect(!token.isActive) }
    }
    #expect(decks.current == 0)
    #expect(closures.current == 0)
    #expect(center.observerCount == 0)
  }

  @Test(
    "K1 K9 Subjects come and go on many threads, and each hears its own alone", arguments: widths)
  func churn(width: Int) {
    let center = MessageCenter()
    let wrong = LiveCount()
    let closures = LiveCount()
    onThreads(width) { thread in
      let players = (0..<20).map { _ in Player() }
      for round in 0..<40 {
        let heard = Recorder<Int>()
        let tokens = players.enumerated().map { index, player in
          let tracked = Tracked(closures)
          return center.messages(of: LevelChanged.self, about: player).observe { message in
            tracked.touch()
            if message.level != thread * 1_000 + index { wrong.increment() }
            heard.record(index)
          }
        }
        for (index, player) in players.enumerated() {
          center.post(LevelChanged(level: thread * 1_000 + index), about: player)
        }
        if heard.values != Array(0..<20) { wrong.increment() }
        for token in round.isMultiple(of: 2) ? tokens : tokens.reversed() { token.cancel() }
        for player in players { center.post(LevelChanged(level: -1), about: player) }
      }
    }
    #expect(wrong.current == 0)
    #expect(closures.current == 0)
    #expect(center.observerCount == 0)
  }
}
