import Campanile
import CampanileKVO
import Observation
import Synchronization
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
    @Observed var other = 0
    var sum: Int { level + other }
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

  @Test("A change between the two announcements is told")
  func announced() {
    device.will()
    device.hardware = 3
    #expect(log.lines.isEmpty)
    device.did()
    #expect(log.lines == ["0 -> 3"])
  }

  @Test("Without announcements nothing is told")
  func unannounced() {
    device.hardware = 3
    #expect(log.lines.isEmpty)
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

  @Test("An observer that comes between the announcements hears the end of the change")
  func between() {
    device.will()
    var heard: [Int] = []
    let token = device.observe(\.level) { _, change in heard.append(change.new) }
    device.hardware = 1
    device.did()
    device.will()
    device.hardware = 2
    device.did()
    #expect(heard == [1, 2])
    withExtendedLifetime(token) {}
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

  @Test("The announcements of two properties do not meet")
  func twoProperties() {
    final class Two: Observable {
      let registrar = KVORegistrar()
      var values = [0, 0]
      var first: Int {
        registrar.access(self, keyPath: \.first)
        return values[0]
      }
      var second: Int {
        registrar.access(self, keyPath: \.second)
        return values[1]
      }
    }
    let two = Two()
    var heard: [String] = []
    let tokens = [
      two.observe(\.first) { _, change in heard.append("first \(change.new)") },
      two.observe(\.second) { _, change in heard.append("second \(change.new)") },
    ]
    two.registrar.willChange(two, keyPath: \.first)
    two.registrar.willChange(two, keyPath: \.second)
    two.values = [1, 2]
    two.registrar.didChange(two, keyPath: \.first)
    #expect(heard == ["first 1"])
    two.registrar.didChange(two, keyPath: \.second)
    #expect(heard == ["first 1", "second 2"])
    withExtendedLifetime(tokens) {}
  }

  @Test("What is computed from an announced property is told")
  func dependent() {
    final class Meter: Observable {
      let device: Device
      init(_ device: Device) { self.device = device }
      var percent: Int { device.level * 10 }
    }
    let meter = Meter(device)
    var heard: [Int] = []
    let token = meter.observe(\.percent) { _, change in heard.append(change.new) }
    device.will()
    device.hardware = 5
    device.did()
    #expect(heard == [50])
    withExtendedLifetime(token) {}
  }

  /// Adds the levels of two devices, and does not keep the second one.
  @Observable final class Pair {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    let first: Device
    weak var second: Device?
    init(_ first: Device, _ second: Device) {
      self.first = first
      self.second = second
    }
    var sum: Int { first.level + (second?.level ?? 0) }
  }

  /// A value that can be compared and counted.
  struct Sum: Equatable {
    let value: Int
    let mark: Tracked
    static func == (left: Self, right: Self) -> Bool { left.value == right.value }
  }

  @Test("withObservationTracking hears of an announced change")
  func tracking() {
    let tracked = Recorder<String>()
    withObservationTracking {
      _ = device.level
    } onChange: {
      tracked.record("will")
    }
    device.will()
    device.will()
    #expect(tracked.values == ["will"])
    device.did()
    device.did()
  }

  @Test("Announcements in a transaction wait for its end")
  func transaction() {
    KVOTransaction.perform {
      for level in 1...3 {
        device.will()
        device.hardware = level
        device.did()
      }
      #expect(log.lines.isEmpty)
    }
    #expect(log.lines == ["0 -> 3"])
  }

  /// Changes the level, and announces another change, which goes on.
  private func announceTwice(
    _ device: Device, level: Int, between observe: (Device) -> Void = { _ in }
  ) {
    device.will()
    device.hardware = level
    device.did()
    observe(device)
    device.will()
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

  @Test("Announcements that observers make inside a call are a change of their own")
  func insideCall() {
    log.kvo.observe(device, \.level, policy: .append) { log, device, change in
      log.lines.append("second \(change.new)")
      guard change.new == 1 else { return }
      device.will()
      device.hardware = 2
      device.did()
    }
    device.will()
    device.hardware = 1
    device.did()
    #expect(log.lines == ["0 -> 1", "second 1", "1 -> 2", "second 2"])
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

  @Test("What a set inside an announced change consists of is told with it too")
  func setOfWhatItIsMadeOf() {
    let knob = Knob()
    let token = follow(knob, \.position, [.old, .prior])
    knob.will(\.position)
    #expect(log.lines == ["prior 0 0"])
    knob.position = 1
    knob.did(\.position)
    #expect(log.lines.first == "prior 0 0" && log.lines.last == "changed 0 1")
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

  @Test("A set of another property inside an announcement is told by itself")
  func otherProperties() {
    let knob = Knob()
    let tokens = [follow(knob, \.level), follow(knob, \.raw)]
    knob.will(\.level)
    knob.raw = 1
    #expect(log.lines == ["changed 0 1"])
    knob.did(\.level)
    #expect(log.lines == ["changed 0 1", "changed 0 0"])
    withExtendedLifetime(tokens) {}
  }

  @Test("A transaction names a property that is set inside its announcement, and tells it once")
  func setInsideInTransaction() {
    let knob = Knob()
    var heard: [[KVOPath]] = []
    let token = knob.observe(\.level) { _, change in heard.append(change.changedPaths) }
    KVOTransaction.perform {
      knob.will(\.level)
      knob.level = 2
      knob.did(\.level)
    }
    #expect(heard == [[KVOPath(\Knob.level)]])
    withExtendedLifetime(token) {}
  }

  @Test("Sets that overlap announcements are all told in the end", arguments: [2, 8])
  func overlappingOnThreads(width: Int) {
    let counter = Announced()
    let last = LiveCount()
    let token = counter.observe(\.count, options: .distinct) { _, change in
      last.value.store(change.new, ordering: .relaxed)
    }
    onThreads(width) { thread in
      for round in 0..<100 {
        if (round + thread) % 3 == 0 { counter.will() }
        counter.increment()
        if (round + thread) % 3 == 0 { counter.did() }
      }
    }
    #expect(last.current == width * 100)
    counter.increment()
    #expect(last.current == width * 100 + 1)
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
    func increment(after body: () -> Void = {}) {
      registrar.withMutation(of: self, keyPath: \.count) {
        body()
        state.withLock { $0 += 1 }
      }
    }
    func will() { registrar.willChange(self, keyPath: \.count) }
    func did() { registrar.didChange(self, keyPath: \.count) }
  }
}
