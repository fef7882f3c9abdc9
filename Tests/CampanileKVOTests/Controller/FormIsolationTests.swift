import Campanile
import CampanileKVO
import Observation
import Testing

/// Each form of observing says, in its own lines, whether its key path is read on the main actor alone.
@Suite("Forms of observing read a key path where that may be read")
@MainActor struct FormIsolationTests {
  /// Any thread may change it; it notes where it is read.
  final class Gauge: Sendable, Observable {
    let reads = Recorder<Int>()
    private let registrar = KVORegistrar()
    private let state = Locked(0)

    var level: Int {
      get {
        registrar.access(self, keyPath: \.level)
        let level = state.withLock { $0 }
        reads.record(level)
        return level
      }
      set {
        registrar.withMutation(of: self, keyPath: \.level) { state.withLock { $0 = newValue } }
      }
    }

    var name: String { "gauge" }
  }

  /// What it keeps is reached on the main actor alone.
  @MainActor @Observable final class Desk {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var gauge = Gauge()
    var note = ""
  }

  @MainActor final class Screen: @MainActor KVOChangeHandler {
    nonisolated let heard = Recorder<String>()
    nonisolated func hear<Value>(_ change: KVOChange<Value>) { heard.record("\(change.new)") }
    nonisolated func levelChangedAnywhere(_ desk: Desk, _ change: KVOChange<Int>) { hear(change) }
    func levelChanged(_ desk: Desk, _ change: KVOChange<Int>) { hear(change) }
    func gaugeChanged(_ gauge: Gauge, _ change: KVOChange<Int>) { hear(change) }
    func anyChanged(_ desk: Desk, _ change: KVOChange<Any>) { hear(change) }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { hear(change) }
  }

  /// A way to observe the gauge's level, of a desk or of the gauge itself.
  struct Form<Object>: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let observe: @MainActor @Sendable (KVOController<Screen>, Object, Delivery) -> Void

    init(
      _ testDescription: String,
      _ observe: @escaping @MainActor @Sendable (KVOController<Screen>, Object, Delivery) -> Void
    ) {
      self.testDescription = testDescription
      self.observe = observe
    }
  }

  /// Another thread changes the level, and does not read it.
  private func changeElsewhere(_ gauge: Gauge) {
    let readCount = gauge.reads.count
    onThread { gauge.level = 3 }()
    #expect(gauge.reads.count == readCount)
  }

  // Broken by: any of the forms, if it says that its key path may be read on any thread.
  @Test(
    "What another thread changes on the way is read and told on the main actor",
    arguments: FormIsolationTests.onMainForms)
  func onMain(form: Form<Desk>) async {
    let (desk, screen) = (Desk(), Screen())
    let (kvo, gauge) = (KVOController(owner: screen), desk.gauge)
    form.observe(kvo, desk, .immediate)
    changeElsewhere(gauge)
    #expect(screen.heard.values.isEmpty)
    await drainMain()
    #expect(screen.heard.values == ["3"])
    #expect(screen.heard.entries.allSatisfy { $0.place.isMain })
    #expect(gauge.reads.entries.allSatisfy { $0.place.isMain })
    withExtendedLifetime((kvo, desk)) {}
  }

  // Broken by: any of the forms, if it says that its key path may be read on any thread.
  @Test(
    "What another thread changes on the way is read on the main actor, and told at a place",
    arguments: FormIsolationTests.atPlaceForms)
  func atPlace(form: Form<Desk>) async {
    let (desk, screen, manual) = (Desk(), Screen(), ManualTarget())
    let (kvo, gauge) = (KVOController(owner: screen), desk.gauge)
    screen.heard.recognize(manual.delivery)
    form.observe(kvo, desk, manual.delivery)
    changeElsewhere(gauge)
    #expect(manual.pendingCount == 0)
    await drainMain()
    #expect(screen.heard.values.isEmpty)
    manual.runAll()
    #expect(screen.heard.values == ["3"])
    #expect(screen.heard.entries.allSatisfy { $0.place.isOn(manual.delivery) })
    #expect(gauge.reads.entries.allSatisfy { $0.place.isMain })
    withExtendedLifetime((kvo, desk)) {}
  }

  // Broken by: any of the forms, if it says that its key path is read on the main actor alone.
  @Test(
    "What any thread changes is read there at once, and told on the main actor",
    arguments: FormIsolationTests.anywhereForms)
  func anywhere(form: Form<Gauge>) async {
    let (gauge, screen, changes) = (Gauge(), Screen(), Recorder<Int>())
    let kvo = KVOController(owner: screen)
    form.observe(kvo, gauge, .immediate)
    let readCount = gauge.reads.count
    onThread {
      for level in [1, 2] {
        changes.record(level)
        gauge.level = level
      }
    }()
    let reads = gauge.reads.entries.dropFirst(readCount)
    #expect(reads.map(\.value) == [1, 2])
    #expect(reads.map(\.place.thread) == changes.entries.map(\.place.thread))
    #expect(screen.heard.values.isEmpty)
    await drainMain()
    #expect(screen.heard.values == ["1", "2"])
    #expect(screen.heard.entries.allSatisfy { $0.place.isMain })
    #expect(gauge.reads.count == readCount + 2)
    withExtendedLifetime(kvo) {}
  }
}

extension FormIsolationTests {
  /// Those that read and tell on the main actor: one for each place that says so.
  nonisolated static let onMainForms: [Form<Desk>] = [
    Form("a handler, inline") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level) { $0.hear($2) }
    },
    Form("a handler of a list, inline") { kvo, desk, _ in
      kvo.observe(desk, [\.gauge.level]) { $0.hear($2) }
    },
    Form("a handler of a list of several types, inline") { kvo, desk, _ in
      kvo.observe(desk, [\.gauge.level, \.note]) { $0.hear($2) }
    },
    Form("a method, inline") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level, calling: Screen.levelChanged)
    },
    Form("a method for a list of several types, inline") { kvo, desk, _ in
      kvo.observe(desk, [\.gauge.level, \.note], calling: Screen.anyChanged)
    },
    Form("the method for all changes, inline") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level)
    },
    Form("the method for all changes and a list, inline") { kvo, desk, _ in
      kvo.observe(desk, [\.gauge.level, \.note])
    },
    Form("a handler") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level, on: .main) { screen, _, change in screen.hear(change) }
    },
    Form("a handler of a list") { kvo, desk, _ in
      kvo.observe(desk, [\.gauge.level], on: .main) { screen, _, change in screen.hear(change) }
    },
    Form("a handler of several types") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level, \.note, on: .main) { screen, _, change in
        screen.hear(change)
      }
    },
    Form("a method") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level, on: .main, calling: Screen.levelChanged)
    },
    Form("the method for all changes") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level, on: .main)
    },
    Form("the method for all changes and several types") { kvo, desk, _ in
      kvo.observe(desk, \.gauge.level, \.note, on: .main)
    },
  ]

  /// Those that read on the main actor, and tell elsewhere.
  nonisolated static let atPlaceForms: [Form<Desk>] = [
    Form("a handler") { kvo, desk, place in
      kvo.observe(desk, \.gauge.level, on: place) { screen, _, change in screen.hear(change) }
    },
    Form("a handler of a list") { kvo, desk, place in
      kvo.observe(desk, [\.gauge.level], on: place) { screen, _, change in screen.hear(change) }
    },
    Form("a handler of several types") { kvo, desk, place in
      kvo.observe(desk, \.gauge.level, \.note, on: place) { screen, _, change in
        screen.hear(change)
      }
    },
    Form("a method") { kvo, desk, place in
      kvo.observe(desk, \.gauge.level, on: place, calling: Screen.levelChangedAnywhere)
    },
  ]

  /// Those that read on the changing thread, and tell on the main actor.
  nonisolated static let anywhereForms: [Form<Gauge>] = [
    Form("a handler") { kvo, gauge, _ in
      kvo.observe(gauge, \.level, on: .main) { screen, _, change in screen.hear(change) }
    },
    Form("a handler of a list") { kvo, gauge, _ in
      kvo.observe(gauge, [\.level], on: .main) { screen, _, change in screen.hear(change) }
    },
    Form("a handler of several types") { kvo, gauge, _ in
      kvo.observe(gauge, \.level, \.name, on: .main) { screen, _, change in screen.hear(change) }
    },
    Form("a method") { kvo, gauge, _ in
      kvo.observe(gauge, \.level, on: .main, calling: Screen.gaugeChanged)
    },
    Form("the method for all changes") { kvo, gauge, _ in
      kvo.observe(gauge, \.level, on: .main)
    },
    Form("the method for all changes and several types") { kvo, gauge, _ in
      kvo.observe(gauge, \.level, \.name, on: .main)
    },
  ]
}
