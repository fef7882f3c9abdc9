import Campanile
import CampanileKVO
import Observation
import Synchronization
import Testing

@Suite("Announcing changes by hand")
struct ManualTests {
  /// A property whose value is somewhere else.
  final class Device: Observable {
    let registrar = KVORegistrar()
    var hardware = 0
    var level: Int {
      registrar.access(self, keyPath: \.level)
      return hardware
    }
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

  @Test("An observer that comes between the announcements hears the next change")
  func between() {
    device.will()
    var heard: [Int] = []
    let token = device.observe(\.level) { _, change in heard.append(change.new) }
    device.hardware = 1
    device.did()
    device.will()
    device.hardware = 2
    device.did()
    #expect(heard == [2])
    withExtendedLifetime(token) {}
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

  @Test("A set inside an announced change of the same property is told with it")
  func setInside() {
    final class Knob: Observable {
      let registrar = KVORegistrar()
      @Observed var raw = 0
      var level: Int {
        get {
          registrar.access(self, keyPath: \.level)
          return raw
        }
        set { registrar.withMutation(of: self, keyPath: \.level) { raw = newValue } }
      }
    }
    let knob = Knob()
    var heard: [String] = []
    let token = knob.observe(\.level, options: .old) { _, change in
      heard.append("\(change.old ?? -1) -> \(change.new)")
    }
    knob.level = 1
    knob.registrar.willChange(knob, keyPath: \.level)
    knob.raw = 2
    knob.registrar.didChange(knob, keyPath: \.level)
    #expect(heard.first == "0 -> 1")
    #expect(heard.last?.hasSuffix("-> 2") == true)
    withExtendedLifetime(token) {}
  }

  @Test(
    "Announcements of several threads are one change, from the first to the last of them",
    arguments: [2, 8])
  func threads(width: Int) {
    final class Shared: Sendable, Observable {
      let registrar = KVORegistrar()
      let hardware = LiveCount()
      var level: Int {
        registrar.access(self, keyPath: \.level)
        return hardware.current
      }
      func will() { registrar.willChange(self, keyPath: \.level) }
      func did() { registrar.didChange(self, keyPath: \.level) }
    }
    let shared = Shared()
    let heard = Recorder<String>()
    let token = shared.observe(\.level, options: .old) { _, change in
      heard.record("\(change.old ?? -1) -> \(change.new)")
    }
    for round in 0..<50 {
      shared.will()
      onThreads(width) { _ in
        for _ in 0..<10 {
          shared.will()
          shared.hardware.value.wrappingAdd(1, ordering: .relaxed)
          shared.did()
        }
      }
      #expect(heard.count == round)
      // Begun here, ended there.
      onThread { shared.did() }()
      #expect(heard.values.last == "\(round * width * 10) -> \((round + 1) * width * 10)")
    }
    #expect(heard.count == 50)
    withExtendedLifetime(token) {}
  }
}
