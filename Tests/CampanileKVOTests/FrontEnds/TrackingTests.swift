import Campanile
import Observation
import Testing

@testable import CampanileKVO

@Suite("Tracking beside key-value observing", .ownThread)
struct TrackingTests {
  let tracked = Recorder<String>()
  let registrar = ObservationRegistrar()

  /// Tracks what `read` reads.
  private func track(_ name: String = "will", _ read: () -> Void) {
    withObservationTracking(read) { [tracked] in tracked.record(name) }
  }

  /// Whether `isUntracked` holds in one of many tries.
  ///
  /// A read counts as tracked too if one on another thread is, that of another test, while it is
  /// looked at. Each of those spoils one try at most, and they are not as many.
  private func holdsOnce(_ isUntracked: () -> Bool) -> Bool {
    (0..<10_000).contains { _ in isUntracked() }
  }

  @Test("A read that nobody tracks is told from one that somebody does")
  func probe() {
    #expect(holdsOnce { !TrackingProbe.isTracked(with: registrar) })
    track { #expect(TrackingProbe.isTracked(with: registrar)) }
    #expect(holdsOnce { !TrackingProbe.isTracked(with: registrar) })
  }

  @Test("A read inside two trackings is tracked, and after the inner one still")
  func nestedProbe() {
    track {
      track { #expect(TrackingProbe.isTracked(with: registrar)) }
      #expect(TrackingProbe.isTracked(with: registrar))
    }
  }

  @Test("A property that was read and not tracked is left out of what is told")
  func uses() {
    let isLeftOut = holdsOnce {
      let uses = PropertyUses()
      if uses.areTracked(with: registrar) || !uses.isNone { return false }
      var isTrackedInside = false
      track { isTrackedInside = uses.areTracked(with: registrar) }
      #expect(isTrackedInside)
      let isStillTracked = uses.areTracked(with: registrar)
      let isNoneAfterwards = uses.isNone
      #expect(isStillTracked && !isNoneAfterwards)
      return true
    }
    #expect(isLeftOut)
  }

  @Test("What was read before is tracked as well as what was not")
  func readBefore() {
    let player = Player()
    let radio = Radio()
    for _ in 0..<3 { _ = (player.level, radio.volume) }
    player.level = 1
    radio.volume = 1
    track("player") { _ = player.level }
    track("radio") { _ = radio.volume }
    player.level = 2
    radio.volume = 2
    #expect(tracked.values == ["player", "radio"])
  }

  @Test("Each tracking is told once, and a new one again")
  func again() {
    let player = Player()
    let radio = Radio()
    for round in 1...3 {
      track("player") { _ = player.level }
      track("radio") { _ = radio.volume }
      for step in 1...2 {
        player.level = round * 10 + step
        radio.volume = round * 10 + step
      }
    }
    #expect(tracked.values == ["player", "radio", "player", "radio", "player", "radio"])
  }

  @Test("A change between the read and the start of the tracking loses nothing later")
  func changeInside() {
    let player = Player()
    let radio = Radio()
    track("player") {
      _ = player.level
      player.level = 1
    }
    track("radio") {
      _ = radio.volume
      radio.volume = 1
    }
    #expect(tracked.values.isEmpty)
    player.level = 2
    radio.volume = 2
    #expect(tracked.values == ["player", "radio"])
  }

  @Test("An outer tracking hears of what an inner one has read")
  func outer() {
    let radio = Radio()
    track("outer") { track("inner") { _ = radio.volume } }
    radio.volume = 1
    #expect(Set(tracked.values) == ["outer", "inner"])
  }

  @Test("What is read for an observation is not tracked by code around it")
  func readForObservation() {
    let (player, radio, counter, meter) = (Player(), Radio(), Counter(), Meter())
    var tokens: [ObservationToken] = []
    track {
      tokens = [
        player.observe(\.line, options: [.initial, .old]) { _, _ in },
        radio.observe(\.display, options: .old) { _, _ in },
        counter.observe(\.double, options: .initial) { _, _ in },
        meter.observe(\.count, options: .initial) { _, _ in },
      ]
      player.title = "a"
    }
    (player.title, radio.volume, counter.count, meter.count) = ("b", 1, 1, 1)
    #expect(tracked.count == 0)
    withExtendedLifetime(tokens) {}
  }

  /// Begins each change, and lets others run before it stores the new value.
  final class Window: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked((stored: 0, other: 0))
    let beforeStoring = Slot<@Sendable () -> Void>()
    var stored: Int {
      get { registrar.value(of: self, \.stored) { read in state.withLock { read($0.stored) } } }
      set {
        registrar.change(
          of: self, \.stored,
          under: { change in
            beforeStoring.value?()
            state.withLock { change(&$0.stored) }
          }
        ) { $0 = newValue }
      }
    }
    var other: Int {
      get {
        registrar.access(self, keyPath: \.other)
        return state.withLock { $0.other }
      }
      set {
        registrar.withMutation(of: self, keyPath: \.other) {
          beforeStoring.value?()
          state.withLock { $0.other = newValue }
        }
      }
    }
  }

  @Test(
    "A change is tracked by a reader that begins after its beginning and has the value before it",
    arguments: [\Window.stored, \.other] as [any ReferenceWritableKeyPath<Window, Int> & Sendable])
  func changeInWindow(path: any ReferenceWritableKeyPath<Window, Int> & Sendable) {
    let window = Window()
    let tracked = tracked
    for round in 1...2 {
      window.beforeStoring.set { [unowned window] in
        window.beforeStoring.set(nil)
        withObservationTracking {
          #expect(window[keyPath: path] == round - 1)
        } onChange: {
          tracked.record("will")
        }
      }
      window[keyPath: path] = round
      #expect(tracked.count == round)
    }
  }

  @Test("The other properties of a tracked object do not tell")
  func others() {
    let player = Player()
    let radio = Radio()
    track { _ = (player.level, radio.volume) }
    player.title = "Aria"
    radio.station = "One"
    #expect(tracked.values.isEmpty)
    player.level = 1
    radio.volume = 1
    #expect(tracked.values == ["will"])
  }

  @Test("Tracking on one thread while others read", arguments: [2, 8])
  func threads(width: Int) {
    let counter = Counter()
    let tracked = tracked
    onThreads(width) { index in
      for round in 0..<100 {
        if index == 0 {
          withObservationTracking {
            _ = counter.count
          } onChange: {
            tracked.record("will")
          }
          counter.increment()
          #expect(tracked.count == round + 1)
        } else {
          _ = counter.count
        }
      }
    }
    #expect(tracked.count == 100)
  }

  @Test("A tracked object that dies is released", arguments: [false, true])
  func released(changes: Bool) {
    let live = LiveCount()
    do {
      let shelf = Shelf(Tracked(live))
      track { _ = shelf.item }
      if changes { shelf.item = Tracked(live) }
    }
    #expect(live.current == 0)
  }
}
