import Testing

@testable import Campanile

/// What one callback table in a music player's singleton gets wrong.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds G: the state that many screens follow", .ownThread)
struct SeedGTests {
  private let state = CurrentValue(0)
  private let heard = Recorder<String>()

  @Test("G1 removal matches: the token is the identity")
  func g1() {
    let tokens = (0..<3).map { index in
      state.observe { [heard] in heard.record("\(index): \($0.new)") }
    }
    tokens[1].cancel()
    state.value = 1
    #expect(heard.values == ["0: 1", "2: 1"])
    #expect(state.observerCount == 2)
    withExtendedLifetime(tokens) {}
  }

  @Test("G2 the death of an observer removes what it registered")
  func g2() {
    let live = LiveCount()
    func observe() {
      let room = Room()
      let tracked = Tracked(live)
      state.observe(owner: room) { [tracked] _, _ in tracked.touch() }
      #expect(state.observerCount == 1)
      withExtendedLifetime(room) {}
    }
    observe()
    #expect(state.observerCount == 0)
    #expect(live.current == 0)
  }

  @Test("G3 one screen can have many callbacks")
  func g3() {
    let screen = Screen()
    state.observe(owner: screen) { $0.heard.record($1.new) }
    state.observe(owner: screen) { $0.heard.record($1.new * 10) }
    state.value = 1
    #expect(screen.heard.values == [1, 10])
  }

  @Test("G4 followers are told in registration order, from any thread", arguments: [1, 2, 8])
  func g4(width: Int) {
    let tokens = (0..<3).map { index in
      state.observe { [heard] _ in heard.record("\(index)") }
    }
    onThreads(width) { [state] in state.value = $0 }
    withExtendedLifetime(tokens) {}
    #expect(heard.values == (0..<width).flatMap { _ in ["0", "1", "2"] })
  }

  @Test("G5 a late follower has the current value; distinct; old and new")
  func g5() {
    state.value = 5
    let token = state.observe([.initial, .distinct]) { [heard] change in
      heard.record("\(change.old.map { "\($0)" } ?? "-") to \(change.new)")
    }
    state.value = 5
    state.value = 6
    withExtendedLifetime(token) {}
    #expect(heard.values == ["- to 5", "5 to 6"])
  }

  @Test("G6 only the screen on top reacts: pause and resume, grouped")
  func g6() {
    let (top, below) = (TokenBag(), TokenBag())
    for (name, bag) in [("below", below), ("top", top)] {
      state.observe { [heard] in heard.record("\(name) \($0.new)") }.store(in: bag)
      state.observe { [heard] in heard.record("\(name) again \($0.new)") }.store(in: bag)
    }
    below.pause()
    state.value = 1
    below.resume()
    top.pause()
    state.value = 2
    withExtendedLifetime((top, below)) {}
    // The screen below is told what it missed as soon as it is on top.
    #expect(
      heard.values == [
        "top 1", "top again 1", "below 1", "below again 1", "below 2", "below again 2",
      ])
  }

  @Test("G7 a protocol with many methods is multicast, weak members in order")
  func g7() {
    let multicast = Multicast<any PlayerDelegate>()
    let kept = [Delegate("a", heard), Delegate("b", heard)]
    multicast.add(kept[0])
    func addMortal() { multicast.add(Delegate("mortal", heard)) }
    addMortal()
    multicast.add(kept[1])
    multicast.call { $0.didStart() }
    multicast.call { $0.didFinish(3) }
    withExtendedLifetime(kept) {}
    #expect(heard.values == ["a started", "b started", "a finished 3", "b finished 3"])
  }
}

private protocol PlayerDelegate: AnyObject {
  func didStart()
  func didFinish(_ track: Int)
}

private final class Delegate: PlayerDelegate {
  private let name: String
  private let heard: Recorder<String>

  init(_ name: String, _ heard: Recorder<String>) {
    self.name = name
    self.heard = heard
  }

  func didStart() { heard.record("\(name) started") }
  func didFinish(_ track: Int) { heard.record("\(name) finished \(track)") }
}
