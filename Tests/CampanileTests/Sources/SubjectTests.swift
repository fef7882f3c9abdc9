import Testing

@testable import Campanile

@Suite("K9: subjects", .eachKindOfSubject, .ownThread)
struct SubjectTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()

  @Test("K9 a subject is not kept alive by its observers nor by a post")
  func notKept() {
    weak var weakPlayer: Player?
    let token: ObservationToken
    do {
      let player = Player()
      weakPlayer = player
      token = center.messages(of: LevelChanged.self, about: player).observe { _ in }
      center.post(LevelChanged(level: 1), about: player)
    }
    #expect(weakPlayer == nil)
    #expect(token.isActive)
  }

  @Test("K9 what waits keeps its subject for observers that are told it, and for nobody else")
  func keptForTheTold() {
    let queue = TestQueue()
    /// Posts about a player, who is let go of while the message waits.
    func isKeptWhileWaiting() -> Bool {
      weak var weakPlayer: Player?
      queue.hold()
      do {
        let player = Player()
        weakPlayer = player
        center.post(LevelChanged(level: 1), about: player)
      }
      defer {
        queue.letGo()
        queue.flush()
      }
      return weakPlayer != nil
    }
    let untold = [
      center.observe(LevelChanged.self, on: queue.delivery) { _ in },
      center.observe(LevelChanged.self, on: queue.delivery.buffered(.newest(1))) { _ in },
    ]
    #expect(!isKeptWhileWaiting())
    let posted = center.messages(of: LevelChanged.self).withSubject
    let told = posted.observe(on: queue.delivery) { _ in }
    #expect(isKeptWhileWaiting())
    told.cancel()
    #expect(!isKeptWhileWaiting())
    let bounded = posted.observe(on: queue.delivery.buffered(.newest(1))) { _ in }
    #expect(isKeptWhileWaiting())
    bounded.cancel()
    #expect(!isKeptWhileWaiting())
    withExtendedLifetime(untold) {}
  }

  @Test("K9 a post from the subject's deinit reaches everybody, and shows the subject to nobody")
  func deinitializing() async throws {
    final class Ending: Sendable {
      let onEnd: @Sendable (Ending) -> Void
      init(_ onEnd: @escaping @Sendable (Ending) -> Void) { self.onEnd = onEnd }
      deinit { onEnd(self) }
    }
    struct Ended: MessageCenter.Message { typealias Subject = Ending }
    let (target, told, later) = (ManualTarget(), Recorder<Bool>(), Recorder<Bool>())
    let posted = center.messages(of: Ended.self).withSubject
    let sequence = posted.values()
    func observe() -> [ObservationToken] {
      let ending = Ending { [center] in center.post(Ended(), about: $0) }
      return [
        posted.observe { told.record($0.subject != nil) },
        posted.observe(on: target.delivery) { told.record($0.subject != nil) },
        posted.observe(on: target.delivery.buffered(.newest(1))) {
          told.record($0.subject != nil)
        },
        posted.observeAsync { later.record($0.subject != nil) },
        posted.observeAsync(buffering: .newest(1)) { later.record($0.subject != nil) },
        center.messages(of: Ended.self, about: ending).observe(on: target.delivery) { [heard] _ in
          heard.record(1)
        },
      ]
    }
    // The object ends here, and stops the program if anything holds it.
    let tokens = observe()
    target.runJobs()
    #expect(try await later.next(2, within: patience) == [false, false])
    var iterator = sequence.makeAsyncIterator()
    let read = await iterator.next()
    #expect(read != nil)
    #expect(read?.subject == nil)
    withExtendedLifetime(tokens) {}
    #expect(told.values == [false, false, false])
    #expect(heard.values == [1])
  }

  @Test("K9 K14 The observations of a center end with it, oldest first, whatever they are about")
  func endInOrder() {
    final class Note: Sendable {
      let number: Int
      let ended: Recorder<Int>
      init(_ number: Int, _ ended: Recorder<Int>) { (self.number, self.ended) = (number, ended) }
      deinit { ended.record(number) }
    }
    let players = (0..<200).map { _ in Player() }
    var tokens: [ObservationToken] = []
    do {
      let center = MessageCenter()
      for (number, player) in players.enumerated() {
        let note = Note(number, heard)
        tokens.append(
          center.messages(of: LevelChanged.self, about: player).observe { _ in _ = note.number })
      }
    }
    #expect(heard.values == Array(players.indices))
    #expect(!tokens.contains { $0.isActive })
  }
}
