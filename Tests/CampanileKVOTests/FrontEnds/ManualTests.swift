import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Announcing changes by hand", .ownThread)
struct ManualTests {
  /// A property whose value is somewhere else.
  final class Device: Observable {
    let registrar = KVORegistrar()
    var hardware = 0
    var level: Int {
      registrar.access(self, keyPath: \.level)
      return hardware
    }
    var twice: Int { level * 2 }
    func will() { registrar.willChange(self, keyPath: \.level) }
    func did() { registrar.didChange(self, keyPath: \.level) }
  }

  let log = Log()
  let device = Device()

  init() {
    log.kvo.observe(device, \.level, options: .old) { log, _, change in
      log.lines.append("\(change.old ?? -1) -> \(change.new)")
    }
  }

  @Test("Announcements nest: the outermost counts")
  func nested() {
    device.will()
    device.hardware = 1
    device.will()
    device.hardware = 2
    device.did()
    #expect(log.lines.isEmpty)
    device.hardware = 3
    device.did()
    #expect(log.lines == ["0 -> 3"])
    device.will()
    device.hardware = 4
    device.did()
    #expect(log.lines == ["0 -> 3", "3 -> 4"])
  }

  @Test("A didChange that nothing began does nothing")
  func unmatched() {
    device.did()
    #expect(log.lines.isEmpty)
    device.will()
    device.hardware = 3
    device.did()
    device.did()
    #expect(log.lines == ["0 -> 3"])
  }

  @Test(
    "K14 An observer that comes inside a set hears its end, also if it is the object's first one",
    arguments: [false, true])
  func firstInsideSet(wasObserved: Bool) {
    let device = Device()
    if wasObserved { device.observe(\.level) { _, _ in }.cancel() }
    var heard: [Int] = []
    var token: ObservationToken?
    device.registrar.withMutation(of: device, keyPath: \.level) {
      token = device.observe(\.level, options: .initial) { _, change in heard.append(change.new) }
      device.hardware = 1
    }
    #expect(heard == [0, 1])
    withExtendedLifetime(token) {}
  }

  @Test(
    "An observer that comes inside a set hears the end of it, whoever observes already",
    arguments: [\Device.level, \.twice], [true, false])
  func insideSet(path: any KeyPath<Device, Int> & Sendable, isClosure: Bool) {
    let others: [(KVOChange<Int>.Options?, isOld: Bool)] = [
      (nil, false), ([], false), (.old, true), (.prior, false), (.distinct, false),
    ]
    for (options, isOld) in others {
      let device = Device()
      var changes: [(old: Int?, new: Int)] = []
      let other = options.map { options in
        device.observe(path, options: options) { _, change in
          if change.phase == .changed { changes.append((change.old, change.new)) }
        }
      }
      var heard: [Int] = []
      var token: ObservationToken?
      func set() {
        token = device.observe(path) { _, change in heard.append(change.new) }
        device.hardware = 1
      }
      if isClosure {
        device.registrar.withMutation(of: device, keyPath: \.level) { set() }
      } else {
        device.registrar.willSet(device, keyPath: \.level)
        set()
        device.registrar.didSet(device, keyPath: \.level)
      }
      let unit = device[keyPath: path]
      #expect(heard == [unit])
      device.registrar.withMutation(of: device, keyPath: \.level) { device.hardware = 2 }
      #expect(heard == [unit, unit * 2])
      #expect(changes.map(\.new) == (options == nil ? [] : [unit, unit * 2]))
      #expect(changes.compactMap(\.old) == (isOld ? [0, unit] : []))
      withExtendedLifetime((other, token)) {}
    }
  }

  /// Adds the levels of two devices, and does not keep the second one.
  final class Pair: Observable {
    let first: Device
    weak var second: Device?
    init(_ first: Device, _ second: Device) { (self.first, self.second) = (first, second) }
    var sum: Int { first.level + (second?.level ?? 0) }
  }

  @Test("Announcements that overlap are a change of each, and one of what is computed from both")
  func overlapping() {
    let second = Device()
    let pair = Pair(device, second)
    let tokens = [
      second.observe(\.level) { [log] _, change in log.lines.append("second \(change.new)") },
      pair.observe(\.sum) { [log] _, change in log.lines.append("sum \(change.new)") },
    ]
    device.will()
    second.will()
    (device.hardware, second.hardware) = (1, 2)
    device.did()
    #expect(log.lines == ["0 -> 1"])
    second.did()
    #expect(log.lines == ["0 -> 1", "second 2", "sum 3"])
    withExtendedLifetime(tokens) {}
  }

  @Test("An object that dies before its change has ended silences no other object")
  func deathBeforeEnd() {
    var second: Device? = Device()
    let pair = Pair(device, second!)
    let token = pair.observe(\.sum) { [log] _, change in log.lines.append("sum \(change.new)") }
    second?.will()
    second = nil
    device.will()
    device.hardware = 5
    device.did()
    #expect(log.lines == ["0 -> 5", "sum 5"])
    withExtendedLifetime(token) {}
  }

  @Test("A change that begins in a transaction and ends after it takes the transaction with it")
  func announcedBeyondTransaction() {
    KVOTransaction.perform {
      device.will()
      device.hardware = 1
      device.did()
      device.will()
    }
    #expect(log.lines.isEmpty)
    device.hardware = 2
    device.did()
    #expect(log.lines == ["0 -> 2"])
  }

  @Test("The prior call is made at the outermost announcement, with the value as it is")
  func prior() {
    log.kvo.unobserveAll()
    log.kvo.observe(device, \.level, options: [.prior, .old]) { log, device, change in
      log.lines.append("\(change.phase) \(device.hardware) \(change.old ?? -1) \(change.new)")
    }
    device.will()
    #expect(log.lines == ["prior 0 0 0"])
    device.hardware = 1
    device.will()
    device.hardware = 2
    device.did()
    device.did()
    #expect(log.lines == ["prior 0 0 0", "changed 2 0 2"])
  }

  final class Knob: Observable {
    let registrar = KVORegistrar()
    @Observed var raw = 0
    private var stored = 0
    var level: Int {
      get {
        registrar.access(self, keyPath: \.level)
        return stored
      }
      set { registrar.withMutation(of: self, keyPath: \.level) { stored = newValue } }
    }
    var position: Int {
      get {
        registrar.access(self, keyPath: \.position)
        return raw
      }
      set { registrar.withMutation(of: self, keyPath: \.position) { raw = newValue } }
    }
    func will(_ path: KeyPath<Knob, Int>) { registrar.willChange(self, keyPath: path) }
    func did(_ path: KeyPath<Knob, Int>) { registrar.didChange(self, keyPath: path) }
  }

  /// Follows a property of a knob.
  private func follow(
    _ knob: Knob, _ path: KeyPath<Knob, Int>, _ options: KVOChange<Int>.Options = .old
  ) -> ObservationToken {
    let log = log
    return knob.observe(path, options: options) { _, change in
      log.lines.append("\(change.phase) \(change.old ?? -1) \(change.new)")
    }
  }

  @Test("Sets inside an announced change of the same property are told with it, once")
  func setInside() {
    let knob = Knob()
    let token = follow(knob, \.level)
    knob.level = 1
    knob.will(\.level)
    knob.level = 2
    knob.will(\.level)
    knob.level += 1
    knob.did(\.level)
    #expect(log.lines == ["changed 0 1"])
    knob.did(\.level)
    #expect(log.lines == ["changed 0 1", "changed 1 3"])
    knob.level = 4
    #expect(log.lines.last == "changed 3 4")
    withExtendedLifetime(token) {}
  }

  @Test("An announcement inside a set of the same property is a part of it")
  func announcedInsideSet() {
    let knob = Knob()
    let token = follow(knob, \.level)
    knob.registrar.withMutation(of: knob, keyPath: \.level) {
      knob.will(\.level)
      knob.level = 1
      knob.did(\.level)
    }
    #expect(log.lines == ["changed 0 1"])
    withExtendedLifetime(token) {}
  }

  @Test("Sets that overlap announcements are all told in the end", arguments: [2, 8])
  func overlappingOnThreads(width: Int) {
    let counter = Announced()
    let heard = Recorder<Int>()
    let token = counter.observe(\.count, options: .distinct) { heard.record($1.new) }
    onThreads(width) { thread in
      for round in 0..<100 {
        if (round + thread) % 3 == 0 { counter.will() }
        counter.increment()
        if (round + thread) % 3 == 0 { counter.did() }
      }
    }
    #expect(heard.values.last == width * 100)
    counter.increment()
    #expect(heard.values.last == width * 100 + 1)
    withExtendedLifetime(token) {}
  }

  /// Behind a lock, and announced by hand besides.
  final class Announced: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked(0)
    var count: Int {
      registrar.access(self, keyPath: \.count)
      return state.withLock { $0 }
    }
    func increment() {
      registrar.withMutation(of: self, keyPath: \.count) { state.withLock { $0 += 1 } }
    }
    func will() { registrar.willChange(self, keyPath: \.count) }
    func did() { registrar.didChange(self, keyPath: \.count) }
  }
}
