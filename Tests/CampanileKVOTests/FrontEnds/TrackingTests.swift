import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Tracking beside key-value observing", .ownThread)
struct TrackingTests {
  let tracked = Recorder<String>()

  /// Tracks what `read` reads.
  private func track(_ name: String = "will", _ read: () -> Void) {
    withObservationTracking(read) { [tracked] in tracked.record(name) }
  }

  @Test(
    "Each tracking is told the next change of what it has read, once, whether or not somebody observes",
    arguments: [false, true])
  func again(isObserved: Bool) {
    let (player, radio, other) = (Player(), Radio(), Radio())
    var tokens: [ObservationToken] = []
    if isObserved {
      tokens = [player.observe(\.line) { _, _ in }, radio.observe(\.volume) { _, _ in }]
    }
    _ = (player.line, radio.volume)
    for round in 1...3 {
      track("player") { _ = player.line }
      track("radio") { _ = radio.display }
      player.level += 1
      radio.presets.append("unread")
      other.volume += 1
      #expect(tracked.count == (round - 1) * 2)
      for step in 1...2 {
        player.title = "\(round) \(step)"
        radio.volume = round * 10 + step
      }
    }
    #expect(tracked.values == ["player", "radio", "player", "radio", "player", "radio"])
    withExtendedLifetime(tokens) {}
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

  @Test("Tracking is no part of a transaction: it is told at the first change")
  func trackingInTransaction() {
    let (radio, player) = (Radio(), Player())
    track("radio") { _ = radio.volume }
    track("player") { _ = player.level }
    KVOTransaction.perform {
      radio.volume = 1
      #expect(tracked.values == ["radio"])
      player.level = 1
      #expect(tracked.values == ["radio", "player"])
    }
    #expect(tracked.count == 2)
  }
}
