import Campanile
import CampanileKVO
import Dispatch
import Synchronization
import Testing

/// Properties whose class hands their values over, from under its own lock.
@Suite("Values handed over from under a lock", .ownThread)
struct LockedChangeTests {
  final class Device: SharedObservable {
    struct State {
      var name = ""
      var tags: [String] = []
    }
    private let registrar = KVORegistrar()
    private let level = Mutex(0)
    private let state = Mutex(State())

    var percent: Int {
      get { registrar.get(self, \.percent, in: level) }
      set { registrar.set(self, \.percent, in: level, to: newValue) }
    }
    var name: String {
      get { registrar.get(self, \.name, in: state, \.name) }
      set { registrar.set(self, \.name, in: state, \.name, to: newValue) }
    }
    var tags: [String] {
      get { registrar.get(self, \.tags, in: state, \.tags) }
      set { registrar.set(self, \.tags, in: state, \.tags, to: newValue) }
    }
    func raise(by amount: Int) throws -> Int {
      try registrar.update(self, \.percent, in: level) { level in
        if level + amount > 100 {
          level = 100
          throw TooLoud()
        }
        level += amount
        return level
      }
    }
    struct TooLoud: Error {}
  }

  /// What an observer was told: the old value and the new one of each change.
  private struct Step: Sendable, Equatable {
    var old: Int?
    var new: Int
  }

  @Test("A property behind a mutex is read, set and updated in one line, and told with its values")
  func oneLine() throws {
    let device = Device()
    let told = Recorder<String>()
    let tokens = [
      device.observe(\.percent, options: [.initial, .old]) {
        told.record("\($1.old ?? -1) \($1.new)")
      },
      device.observe(\.name, options: .old) { told.record("\($1.old ?? "-") \($1.new)") },
      device.observe(\.tags) { told.record("\($1.edit) \($1.new)") },
    ]
    device.percent = 10
    #expect(try device.raise(by: 5) == 15)
    #expect(throws: Device.TooLoud.self) { try device.raise(by: 90) }
    device.name = "Lamp"
    device.mutableArray(\.tags).append("new")
    #expect(
      told.values == [
        "-1 0", "0 10", "10 15", "15 100", " Lamp", "insertion [\"new\"]",
      ])
    #expect(device.percent == 100 && device.name == "Lamp" && device.tags == ["new"])
    withExtendedLifetime(tokens) {}
  }

  @Test("A path that is one property takes its values from the setter, and reads nothing")
  func nothingRead() {
    let (meter, reads, steps) = (Meter(), Recorder<Int>(), Recorder<Step>())
    let token = meter.observe(\.count, options: .old) {
      steps.record(Step(old: $1.old, new: $1.new))
    }
    meter.willRead.set { reads.record(0) }
    for count in 1...2 { meter.count = count }
    #expect(steps.values == [Step(old: 0, new: 1), Step(old: 1, new: 2)])
    #expect(reads.count == 0)
    withExtendedLifetime(token) {}
  }

  @Test("K1 A change that another one takes with it is told to an observer that came before it")
  func takenWithAnother() {
    let meter = Meter()
    let told = Recorder<Int>()
    let late = TokenBag()
    let token = meter.observe(\.count) { meter, change in
      if change.new != 1 { return }
      KVOTransaction.perform { meter.count = 6 }
      meter.observe(\.count) { told.record($1.new) }.store(in: late)
      meter.count = 7
    }
    meter.count = 1
    #expect(told.values == [7])
    meter.count = 8
    #expect(told.values == [7, 8])
    withExtendedLifetime((token, late)) {}
  }

  @Test("`distinct` compares the old value of a change with its new one")
  func distinct() {
    let meter = Meter()
    let values = Recorder<Int>()
    let token = meter.observe(\.count, options: .distinct) { values.record($1.new) }
    meter.count = 0
    meter.count = 1
    token.pause()
    meter.count = 2
    token.resume()
    meter.count = 2
    meter.count = 1
    #expect(values.values == [1, 1])
    withExtendedLifetime(token) {}
  }

  @Test(
    "Transactions of one thread among the changes of others never take a value back",
    arguments: [2, 8])
  func transactionsAmongChanges(width: Int) {
    let meter = Meter()
    let values = Recorder<Int>()
    let token = meter.observe(\.count) { values.record($1.new) }
    onThreads(width) { index in
      for _ in 0..<500 {
        if index == 0 {
          KVOTransaction.perform {
            meter.increment()
            meter.increment()
          }
        } else {
          meter.increment()
        }
      }
    }
    let told = values.values
    #expect(told.last == meter.count)
    #expect(zip(told, told.dropFirst()).allSatisfy { $0 <= $1 })
    withExtendedLifetime(token) {}
  }

  @Test("The values are released when they have been told, outside the lock")
  func release() {
    final class Watched: Sendable {
      let atEnd: @Sendable () -> Void
      init(_ atEnd: @escaping @Sendable () -> Void) { self.atEnd = atEnd }
      deinit { atEnd() }
    }
    let box = SharedBox<Watched>()
    let releases = Recorder<Bool>()
    let token = box.observe(\.content, options: .old) { _, _ in }
    box.content = Watched { [weak box] in
      // It would wait for ever if the lock were held.
      releases.record(box?.content == nil)
    }
    box.content = nil
    #expect(releases.values == [true])
    withExtendedLifetime(token) {}
  }

  @Test(
    "A set by an observer in its initial call comes after what another thread has set meanwhile")
  func setInInitialCall() {
    let meter = Meter()
    let steps = Recorder<Step>()
    let token = meter.observe(\.count, options: [.initial, .old]) { meter, change in
      steps.record(Step(old: change.old, new: change.new))
      if change.phase == .initial {
        onThread { meter.count = 1 }()
        meter.count = 10
      }
    }
    #expect(
      steps.values == [Step(old: nil, new: 0), Step(old: 0, new: 1), Step(old: 1, new: 10)])
    withExtendedLifetime(token) {}
  }

  @Test("K14 An observer that begins inside a transaction is not told again what it began with")
  func beginsInTransaction() {
    let meter = Meter()
    let told = Recorder<Int>()
    let others = Recorder<Int>()
    let tokens = TokenBag()
    tokens.insert(meter.observe(\.count) { others.record($1.new) })
    meter.count = 1
    KVOTransaction.perform {
      meter.count = 5
      tokens.insert(meter.observe(\.count, options: .initial) { told.record($1.new) })
    }
    #expect(told.values == [5])
    meter.count = 6
    #expect(told.values == [5, 6])
    #expect(others.values == [1, 5, 6])
  }

  @Test("The first observation of a property hears a set that began before it, once")
  func firstObservation() {
    final class Slow: SharedObservable {
      let registrar = KVORegistrar()
      let state = Locked(0)
      var count: Int { registrar.value(of: self, \.count) { read in state.withLock { read($0) } } }
      func set(_ value: Int, before lock: () -> Void = {}) {
        var isFirst = true
        registrar.change(
          of: self, \.count,
          under: { change in
            if isFirst { lock() }
            isFirst = false
            state.withLock { change(&$0) }
          }
        ) { $0 = value }
      }
    }
    let slow = Slow()
    let steps = Recorder<Step>()
    let token = Locked<ObservationToken?>(nil)
    // The set has seen that nobody observes, and has not taken the lock.
    slow.set(1) {
      let made = slow.observe(\.count, options: [.initial, .old]) {
        steps.record(Step(old: $1.old, new: $1.new))
      }
      token.withLock { $0 = made }
    }
    slow.set(2)
    #expect(steps.values == [Step(old: nil, new: 0), Step(old: 0, new: 1), Step(old: 1, new: 2)])
    token.withLock { $0 = nil }
  }
}
