import Campanile
import CampanileKVO
import Observation
import Testing

private let widths = [1, 2, 8]

/// The call that an observation begins with, and the changes that others make in that moment.
@Suite("Beginning with the value that there is", .ownThread)
struct InitialTests {
  /// The ways to begin with a value where it is changed.
  enum Form: CaseIterable {
    case token, controller, source

    /// Observes with `.initial`; what is returned is to be kept.
    func observe(
      _ counter: Counter, _ observer: @escaping @Sendable (KVOChange<Int>) -> Void
    ) -> [any AnyObject & Sendable] {
      switch self {
      case .token: return [counter.observe(\.count, options: .initial) { observer($1) }]
      case .source:
        return [counter.changes(of: \.count, options: .initial).observe { observer($0) }]
      case .controller:
        let owner = SharedLog()
        let kvo = KVOController(owner: owner)
        kvo.observe(counter, \.count, options: .initial) { observer($2) }
        return [owner, kvo]
      }
    }
  }

  @Test("K14 Changes that come during the initial call are told after it", arguments: Form.allCases)
  func during(form: Form) {
    let gate = Gate()
    let heard = Recorder<Int>()
    let counter = Counter()
    let kept = Recorder<any AnyObject & Sendable>()
    let observe = onThread {
      let observers = form.observe(counter) { change in
        if change.phase == .initial { gate.pass() }
        heard.record(change.new)
      }
      for observer in observers { kept.record(observer) }
    }
    gate.waitUntilReached()
    // Finds the other thread telling, and leaves the change to it.
    counter.count = 3
    #expect(heard.count == 0)
    gate.open()
    observe()
    #expect(heard.values == [0, 3])
    withExtendedLifetime(kept) {}
  }

  @Test(
    "K14 An observer that comes while others change begins with one value and misses none after it",
    arguments: Form.allCases, widths)
  func meanwhile(form: Form, width: Int) {
    for _ in 0..<20 {
      let counter = Counter()
      let calls = Recorder<Recorder<KVOChange<Int>>>()
      let kept = Recorder<any AnyObject & Sendable>()
      let source = counter.changes(of: \.count, options: .initial)
      onThreads(width) { index in
        if index % 2 == 1 || width == 1 {
          let heard = Recorder<KVOChange<Int>>()
          calls.record(heard)
          if form == .source {
            kept.record(source.observe { heard.record($0) })
          } else {
            for observer in form.observe(counter, { heard.record($0) }) { kept.record(observer) }
          }
        }
        for _ in 0..<20 { counter.increment() }
      }
      for heard in calls.values.map(\.values) {
        let values = heard.map(\.new)
        #expect(heard.first?.phase == .initial)
        #expect(heard.dropFirst().allSatisfy { $0.phase == .changed })
        #expect(values == values.sorted())
        #expect(values.last == counter.count)
      }
      #expect(calls.count == max(1, width / 2))
      withExtendedLifetime(kept) {}
    }
  }

  @Test(
    "Once with initial is the initial call alone, of a source too, also inside a call of the path",
    arguments: [false, true])
  func once(isInside: Bool) {
    let counter = Counter()
    let heard = Recorder<Int>()
    let tokens = TokenBag()
    let begin: @Sendable () -> Void = {
      tokens.insert(
        counter.changes(of: \.count, options: .initial).observe(options: .once) {
          #expect($0.phase == .initial)
          heard.record($0.new)
        })
    }
    if isInside {
      tokens.insert(
        counter.observe(\.count, options: .once) { _, _ in
          begin()
          #expect(heard.count == 0)
        })
      counter.count = 1
    } else {
      begin()
    }
    counter.count = 2
    #expect(heard.values == [isInside ? 1 : 0])
    #expect(tokens.count == 0)
  }

  // MARK: In the middle of a change

  /// Announces a change, and runs a hook before it makes it.
  final class Slow: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked(0)
    let hook = Slot<@Sendable () -> Void>()

    var value: Int {
      get {
        registrar.access(self, keyPath: \.value)
        return state.withLock { $0 }
      }
      set {
        registrar.withMutation(of: self, keyPath: \.value) {
          hook.value?()
          state.withLock { $0 = newValue }
        }
      }
    }
  }

  /// Leads to a slow object that can be replaced.
  final class Holder: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked<Slow?>(nil)

    var slow: Slow? {
      get {
        registrar.access(self, keyPath: \.slow)
        return state.withLock { $0 }
      }
      set { registrar.withMutation(of: self, keyPath: \.slow) { state.withLock { $0 = newValue } } }
    }
  }

  @Test("K14 Who was told the value in the middle of a change on another thread hears its end")
  func betweenTheHalves() {
    let slow = Slow()
    let heard = Recorder<Int>()
    let tokens = TokenBag()
    slow.hook.set {
      slow.hook.set(nil)
      onThread {
        tokens.insert(slow.observe(\.value, options: .initial) { heard.record($1.new) })
      }()
    }
    slow.value = 1
    #expect(heard.values == [0, 1])
    slow.value = 2
    #expect(heard.values == [0, 1, 2])
    withExtendedLifetime(tokens) {}
  }

  @Test("K1 An observer that begins during a change hears the end of it", arguments: [false, true])
  func betweenTheHalvesWithoutInitial(hasChanged: Bool) {
    let slow = Slow()
    let heard = Recorder<Int>()
    let tokens = TokenBag()
    if hasChanged {
      slow.observe(\.value) { _, _ in }.cancel()
      slow.value = 5
    }
    slow.hook.set {
      slow.hook.set(nil)
      onThread { tokens.insert(slow.observe(\.value) { heard.record($1.new) }) }()
    }
    slow.value = 1
    slow.value = 2
    #expect(heard.values == [1, 2])
    withExtendedLifetime(tokens) {}
  }

  @Test("K14 A path that comes to lead to an object in the middle of its change hears the end")
  func replacedBetweenTheHalves() {
    let (holder, slow) = (Holder(), Slow())
    let heard = Recorder<Int>()
    let token = holder.observe(\.slow?.value) { heard.record($1.new ?? -1) }
    slow.hook.set {
      slow.hook.set(nil)
      onThread { holder.slow = slow }()
    }
    slow.value = 1
    #expect(heard.values == [0, 1])
    withExtendedLifetime(token) {}
  }

  @Test("K14 The first value of an observer has the first change that is handed over meanwhile")
  func handedOverMeanwhile() {
    let meter = Meter()
    let first = meter.observe(\.count) { _, _ in }
    meter.willRead.set { [meter] in
      meter.willRead.set(nil)
      onThread { meter.count = 1 }()
    }
    let heard = Recorder<Int>()
    let second = meter.observe(\.count, options: .initial) { heard.record($1.new) }
    #expect(heard.values == [1])
    meter.count = 2
    #expect(heard.values == [1, 2])
    withExtendedLifetime((first, second)) {}
  }
}
