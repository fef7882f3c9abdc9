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
}
