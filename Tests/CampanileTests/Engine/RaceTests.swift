import Synchronization
import Testing

@testable import Campanile

/// Posts while others add and cancel: nothing lost, nothing out of order, nothing kept.
@Suite("Posts while lists change", .ownThread)
struct RaceTests {
  /// One post, and who heard it.
  private final class Trace: Sendable {
    let thread: Int
    let number: Int
    let heard = Recorder<Int>()

    init(thread: Int, number: Int) {
      self.thread = thread
      self.number = number
    }
  }

  /// What the threads share; what goes wrong is counted, so that they need not report it.
  private final class Scene: Sendable {
    let source = Broadcaster<Trace>()
    let life = LiveCount()
    let lost = LiveCount()
    let late = LiveCount()
    let isDone = LiveCount()

    func observe(_ body: @escaping @Sendable (Trace) -> Void) -> ObservationToken {
      let tracked = Tracked(life)
      return source.observe { trace in
        tracked.touch()
        body(trace)
      }
    }

    /// Posts `count` times on each of `width` threads; each post is to be heard by 0..<`staying`.
    ///
    /// Those threads join the meeting first.
    func post(_ count: Int, width: Int, staying: Int, _ meeting: Meeting? = nil) {
      onThreads(width) { thread in
        meeting?.join()
        for number in 0..<count {
          let trace = Trace(thread: thread, number: number)
          self.source.send(trace)
          if trace.heard.values != Array(0..<staying) { self.lost.increment() }
        }
      }
    }

    /// Adds and cancels until all is done, keeping some, in changing order.
    func churn(seed: Int, atATime: Int, _ meeting: Meeting) {
      meeting.join()
      var tokens: [(token: ObservationToken, hasEnded: LiveCount)] = []
      var random = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
      while isDone.current == 0 {
        for _ in 0..<atATime {
          let hasEnded = LiveCount()
          let token = observe { [late] _ in if hasEnded.current > 0 { late.increment() } }
          tokens.append((token, hasEnded))
        }
        while tokens.count > atATime / 4 {
          random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          let (token, hasEnded) = tokens.remove(at: Int(random >> 33) % tokens.count)
          if random & (1 << 32) == 0 {
            token.cancel()
          } else {
            #expect(token.cancelAndWait() == .finished)
            hasEnded.increment()
          }
        }
      }
    }
  }

  @Test(
    "K1 K3 K4 K5 K16 Observers that stay hear every post in order, and those that went none",
    arguments: widths, [2, 100])
  func churn(width: Int, atATime: Int) {
    let scene = Scene()
    let staying = (0..<10).map { index in
      // Among those that come and go, not before them.
      let others = (0..<7).map { _ in scene.observe { _ in } }
      let token = scene.observe { $0.heard.record(index) }
      for other in others { other.cancel() }
      return token
    }
    let meeting = Meeting(of: width + 2)
    let churners = (1...2).map { seed in
      onThread { scene.churn(seed: seed, atATime: atATime, meeting) }
    }
    scene.post(1_200 / width, width: width, staying: 10, meeting)
    scene.isDone.increment()
    for wait in churners { wait() }
    #expect(scene.lost.current == 0)
    #expect(scene.late.current == 0)
    #expect(scene.life.current == 10)
    for token in staying { token.cancel() }
    #expect(scene.life.current == 0)
    #expect(scene.source.observerCount == 0)
  }

  @Test("K6 The posts of a thread reach an observer in that thread's order", arguments: widths)
  func order(width: Int) {
    let scene = Scene()
    let last = (0..<width).map { _ in LiveCount() }
    let disordered = LiveCount()
    let token = scene.observe { trace in
      // Only the poster's own thread comes here with its number.
      if last[trace.thread].current != trace.number { disordered.increment() }
      last[trace.thread].increment()
    }
    let meeting = Meeting(of: width + 1)
    let churner = onThread { scene.churn(seed: 3, atATime: 20, meeting) }
    scene.post(1_000 / width, width: width, staying: 0, meeting)
    scene.isDone.increment()
    churner()
    #expect(disordered.current == 0)
    for count in last { #expect(count.current == 1_000 / width) }
    token.cancel()
    #expect(scene.life.current == 0)
  }

  @Test(
    "K3 K7 K16 Observers that add and cancel each other inside posts leave nothing behind",
    arguments: widths)
  func inside(width: Int) {
    let scene = Scene()
    let tokens = Locked<[ObservationToken]>([])
    let token = scene.observe { [weak scene] trace in
      guard let scene else { return }
      let new = scene.observe { inner in
        if inner.number.isMultiple(of: 5) { tokens.withLock { $0.popLast() }?.cancel() }
      }
      let old = tokens.withLock { tokens -> ObservationToken? in
        tokens.append(new)
        return tokens.count > 20 ? tokens.removeFirst() : nil
      }
      old?.cancel()
      if trace.number.isMultiple(of: 7) {
        scene.source.send(Trace(thread: trace.thread, number: 1))
      }
    }
    scene.post(600 / width, width: width, staying: 0)
    token.cancel()
    for token in tokens.withLock({ $0 }) { token.cancel() }
    #expect(scene.life.current == 0)
    #expect(scene.source.observerCount == 0)
  }

  @Test("K3 K16 Many threads that end one registration end it once", arguments: widths)
  func cancelTogether(width: Int) {
    let scene = Scene()
    for _ in 0..<100 {
      let token = scene.observe { _ in }
      let ended = LiveCount()
      onThreads(width + 1) { index in
        if index == width {
          scene.source.send(Trace(thread: 0, number: 0))
        } else if token.cancel() != .alreadyEnded {
          ended.increment()
        }
      }
      #expect(ended.current == 1)
      #expect(scene.life.current == 0)
    }
  }

  @Test("K9 K16 Subjects' lists come and go while others post about them", arguments: widths)
  func subjects(width: Int) {
    let center = MessageCenter()
    let players = (0..<8).map { _ in Player() }
    let life = LiveCount()
    let wrong = LiveCount()
    let isDone = LiveCount()
    let meeting = Meeting(of: width + 2)
    let churners = (0..<2).map { half in
      onThread {
        meeting.join()
        while isDone.current == 0 {
          let tokens = (0..<4).map { index -> ObservationToken in
            let number = half * 4 + index
            let tracked = Tracked(life)
            return center.messages(of: LevelChanged.self, about: players[number]).observe {
              message in
              tracked.touch()
              if message.level != number { wrong.increment() }
            }
          }
          for token in tokens { token.cancel() }
        }
      }
    }
    onThreads(width) { _ in
      meeting.join()
      for round in 0..<(4_000 / width) {
        let number = round % 8
        center.post(LevelChanged(level: number), about: players[number])
      }
    }
    isDone.increment()
    for wait in churners { wait() }
    #expect(wrong.current == 0)
    #expect(life.current == 0)
    #expect(center.observerCount == 0)
  }
}
