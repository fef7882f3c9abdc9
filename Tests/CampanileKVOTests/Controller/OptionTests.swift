import Campanile
import CampanileKVO
import Observation
import Synchronization
import Testing

@Suite("Options", .ownThread)
struct OptionTests {
  let log = Log()
  let radio = Radio()

  private func follow<Value>(
    _ keyPath: KeyPath<Radio, Value>, _ options: KVOChange<Value>.Options
  ) {
    log.kvo.observe(radio, keyPath, options: options) { log, _, change in
      let old = change.old.map { "\($0)" } ?? "-"
      log.lines.append("\(change.phase) \(old) \(change.new)")
    }
  }

  @Test("Without options there is a new value and no old one")
  func none() {
    follow(\.volume, [])
    radio.volume = 3
    #expect(log.lines == ["changed - 3"])
  }

  @Test("With old there are both")
  func old() {
    follow(\.volume, .old)
    radio.volume = 3
    radio.volume = 4
    #expect(log.lines == ["changed 0 3", "changed 3 4"])
  }

  @Test("The initial call comes before observe returns, and has no old value")
  func initial() {
    radio.volume = 2
    follow(\.volume, [.initial, .old])
    #expect(log.lines == ["initial - 2"])
    radio.volume = 3
    #expect(log.lines.last == "changed 2 3")
  }

  @Test("The prior call comes before the change, with the value as it is")
  func prior() {
    log.kvo.observe(radio, \.volume, options: [.prior, .old]) { log, radio, change in
      log.lines.append("\(change.phase) \(radio.volume) \(change.old ?? -1) \(change.new)")
    }
    radio.volume = 3
    #expect(log.lines == ["prior 0 0 0", "changed 3 0 3"])
  }

  @Test("A prior call tells no old value that nobody asked for")
  func priorWithoutOld() {
    follow(\.volume, .prior)
    radio.volume = 3
    #expect(log.lines == ["prior - 0", "changed - 3"])
  }

  @Test("Prior of a nested path and of a computed property comes once")
  func priorOfComputed() {
    follow(\.display, [.prior, .old])
    radio.volume = 3
    #expect(log.lines == ["prior  0  0", "changed  0  3"])
  }

  @Test("Distinct leaves out sets to an equal value")
  func distinct() {
    follow(\.volume, .distinct)
    radio.volume = 0
    radio.volume = 3
    radio.volume = 3
    #expect(log.lines == ["changed - 3"])
  }

  @Test("Without distinct an equal set is a change")
  func notDistinct() {
    follow(\.volume, .old)
    radio.volume = 0
    #expect(log.lines == ["changed 0 0"])
  }

  @Test("All options together")
  func all() {
    follow(\.volume, [.initial, .prior, .old, .distinct])
    radio.volume = 3
    #expect(log.lines == ["initial - 0", "prior 0 0", "changed 0 3"])
  }

  @Test("A change that is made in an initial call has its prior call, and its old value")
  func setInInitial() {
    let token = radio.observe(\.volume, options: [.initial, .prior, .old]) { [log] radio, change in
      log.lines.append("\(change.phase) \(change.old.map { "\($0)" } ?? "-") \(change.new)")
      if change.phase == .initial { radio.volume = 5 }
    }
    #expect(log.lines == ["initial - 0", "prior 0 0", "changed 0 5"])
    withExtendedLifetime(token) {}
  }

  /// Sets through its registrar.
  private final class Gauge: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Mutex(0)
    var level: Int {
      get { registrar.get(self, \.level, in: state) }
      set { registrar.set(self, \.level, in: state, to: newValue) }
    }
  }

  @Test("Distinct goes with other options, whichever comes first")
  func distinctAmongOthers() {
    for options in [[.old, .distinct], [.distinct, .old]] as [KVOChange<Int>.Options] {
      log.lines = []
      log.kvo.observe(radio, \.volume, options: options, policy: .replace) { log, _, change in
        log.lines.append("\(change.old ?? -1) -> \(change.new)")
      }
      radio.volume = 1
      radio.volume = 1
      radio.volume = 0
      #expect(log.lines == ["0 -> 1", "1 -> 0"])
    }
  }

  @Test("K14 Distinct tells a change back on one thread to what another one changed meanwhile")
  func distinctAcrossThreads() {
    let slow = InitialTests.Slow()
    let heard = Recorder<Int>()
    let token = slow.observe(\.value, options: .distinct) { heard.record($1.new) }
    slow.hook.set {
      slow.hook.set(nil)
      onThread { slow.value = 5 }()
    }
    slow.value = 0
    #expect(heard.values == [5, 0])
    withExtendedLifetime(token) {}
  }

  @Test("K14 Distinct tells a change back that a transaction keeps while another one is being told")
  func distinctAcrossTransaction() {
    let slow = InitialTests.Slow()
    let heard = Recorder<Int>()
    let (begun, kept, telling) = (Gate(), Gate(), Gate())
    let token = slow.observe(\.value, options: .distinct) { _, change in
      heard.record(change.new)
      if change.new == 5 { telling.pass() }
    }
    slow.hook.set {
      slow.hook.set(nil)
      begun.pass()
    }
    let first = onThread {
      KVOTransaction.perform {
        slow.value = 0
        kept.pass()
      }
    }
    begun.waitUntilReached()
    let second = onThread { slow.value = 5 }
    telling.waitUntilReached()
    begun.open()
    kept.waitUntilReached()
    telling.open()
    second()
    kept.open()
    first()
    #expect(heard.values == [5, 0])
    withExtendedLifetime(token) {}
  }

  @Test("Distinct compares the values of each change, also of one that an observer makes")
  func distinctAfterCorrection() {
    let token = radio.observe(\.volume) { radio, change in if change.new > 10 { radio.volume = 10 }
    }
    follow(\.volume, .distinct)
    radio.volume = 12
    radio.volume = 11
    radio.volume = 3
    #expect(log.lines == [12, 10, 11, 10, 3].map { "changed - \($0)" })
    withExtendedLifetime(token) {}
  }

  @Test("K16 Distinct keeps no value, also if changes overlapped")
  func distinctKeepsNothing() {
    final class Cover: Equatable {
      static func == (one: Cover, other: Cover) -> Bool { one === other }
    }
    final class Sleeve: Observable {
      @Observed var cover: Cover?
    }
    let sleeve = Sleeve()
    weak var inner: Cover?
    var isFirst = true
    let tokens = [
      sleeve.observe(\.cover, options: .distinct) { _, _ in },
      sleeve.observe(\.cover, options: .prior) { sleeve, change in
        guard change.phase == .prior, isFirst else { return }
        isFirst = false
        let cover = Cover()
        inner = cover
        sleeve.cover = cover
      },
    ]
    sleeve.cover = Cover()
    #expect(inner == nil)
    inner = sleeve.cover
    sleeve.cover = nil
    #expect(inner == nil)
    withExtendedLifetime(tokens) {}
  }

  @Test("K16 A value that was exchanged for an equal one is not kept for distinct")
  func equalValueGoes() {
    final class Label: Equatable {
      static func == (one: Label, other: Label) -> Bool { true }
    }
    final class Box: Observable {
      @Observed var label = Label()
    }
    let box = Box()
    var count = 0
    let token = box.observe(\.label, options: .distinct) { _, _ in count += 1 }
    weak var first: Label?
    do { first = box.label }
    #expect(first != nil)
    box.label = Label()
    #expect(first == nil)
    #expect(count == 0)
    withExtendedLifetime(token) {}
  }

  @Test("A token's observation ends with its first call, if that is asked for")
  func onceWithToken() {
    var values: [Int] = []
    let token = radio.observe(\.volume, options: .once) { _, change in values.append(change.new) }
    radio.volume = 1
    radio.volume = 2
    #expect(values == [1])
    #expect(!token.isActive)
  }

  @Test("Once ends with the first call")
  func once() {
    follow(\.volume, .once)
    radio.volume = 3
    radio.volume = 4
    #expect(log.lines == ["changed - 3"])
    #expect(!log.kvo.isObserving(radio, \.volume))
  }

  @Test("Once with initial is the initial call alone")
  func onceInitial() {
    follow(\.volume, [.once, .initial])
    radio.volume = 3
    #expect(log.lines == ["initial - 0"])
  }

  @Test("A set inside the initial call is told after it")
  func setInsideInitial() {
    log.kvo.observe(radio, \.volume, options: .initial) { log, radio, change in
      log.lines.append("\(change.new)")
      if change.phase == .initial { radio.volume = 5 }
    }
    #expect(log.lines == ["0", "5"])
  }

  @Test("A set inside an observer is told after the call")
  func setInsideObserver() {
    log.kvo.observe(radio, \.volume, options: .old) { log, radio, change in
      log.lines.append("\(change.old ?? -1) -> \(change.new)")
      if change.new < 3 { radio.volume += 1 }
      log.lines.append("done \(change.new)")
    }
    radio.volume = 1
    #expect(
      log.lines == ["0 -> 1", "done 1", "1 -> 2", "done 2", "2 -> 3", "done 3"])
  }

  @Test("The old value is not read when nobody asks for it")
  func oldIsNotRead() {
    final class Costly: Observable {
      private let registrar = KVORegistrar()
      var reads = 0
      var stored = 0
      var value: Int {
        get {
          registrar.access(self, keyPath: \.value)
          reads += 1
          return stored
        }
        set { registrar.withMutation(of: self, keyPath: \.value) { stored = newValue } }
      }
    }
    let costly = Costly()
    log.kvo.observe(costly, \.value) { log, _, change in log.lines.append("\(change.new)") }
    costly.reads = 0
    costly.value = 1
    #expect(costly.reads == 1)
    log.kvo.observe(costly, \.value, options: .old, policy: .replace) { _, _, _ in }
    costly.reads = 0
    costly.value = 2
    #expect(costly.reads == 2)
  }

  @Test("An array that is changed in place is not copied unless its old value is asked for")
  func noCopy() {
    final class Box: Observable { @Observed var items: [Int] = Array(0..<1000) }
    let box = Box()
    log.kvo.observe(box, \.items.count) { log, _, change in log.lines.append("\(change.new)") }
    box.items.reserveCapacity(2000)
    let before = unsafe box.items.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    box.items.append(1)
    let after = unsafe box.items.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    #expect(before == after)
    #expect(log.lines.last == "1001")
  }
}
