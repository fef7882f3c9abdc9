import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

private let widths = [1, 2, 8]

/// The promises that are about who is told, and in which order.
@Suite("The contract: who is told", .ownThread)
struct ContractTests {
  let counter = Counter()
  let owner = SharedLog()
  let kvo: KVOController<SharedLog>

  init() { kvo = KVOController(owner: owner) }

  @Test(
    "K1 The next change reaches an observer that registered while others changed", arguments: widths
  )
  func k1Busy(width: Int) {
    let counter = counter
    let observers = Recorder<Recorder<Int>>()
    let tokens = TokenBag()
    onThreads(width) { _ in
      for _ in 0..<50 {
        let heard = Recorder<Int>()
        tokens.insert(counter.observe(\.double) { _, change in heard.record(change.new) })
        observers.record(heard)
        counter.increment()
      }
    }
    let total = width * 50
    #expect(counter.count == total)
    for heard in observers.values {
      #expect(heard.values.last == total * 2)
      #expect(heard.values == heard.values.sorted())
    }
  }

  @Test("K2 An observer that is ended before its turn is skipped")
  func k2() {
    let kvo = kvo
    kvo.observe(counter, \.count) { owner, counter, change in
      owner.lines.record("first")
      kvo.unobserve(counter, \.double)
    }
    kvo.observe(counter, \.double) { owner, _, _ in owner.lines.record("second") }
    counter.count = 1
    #expect(owner.lines.values == ["first"])
  }

  @Test("K3 When cancel has returned, no call begins: not of a change that others are told now")
  func k3Running() {
    let gate = Gate()
    let heard = Recorder<String>()
    let counter = counter
    let changes = counter.changes(of: \.count)
    let first = changes.observe { _ in
      heard.record("first")
      gate.pass()
    }
    let second = changes.observe { _ in heard.record("second") }
    let set = onThread { counter.count = 1 }
    gate.waitUntilReached()
    // The list grows: what is being gone through is not what the registration is taken from.
    let more = TokenBag()
    for _ in 0..<100 { more.insert(changes.observe { _ in }) }
    #expect(second.cancel() != .alreadyEnded)
    gate.open()
    set()
    #expect(heard.values == ["first"])
    #expect(second.cancel() == .alreadyEnded)
    withExtendedLifetime(first) {}
  }

  @Test(
    "K3 An observation that has ended reads its key path no more: not for a change that is told")
  func k3Reading() {
    final class Reader: SharedObservable {
      let counter = Counter()
      let reads = Recorder<Int>()
      var count: Int {
        reads.record(0)
        return counter.count
      }
    }
    let gate = Gate()
    let reader = Reader()
    let counter = reader.counter
    let first = counter.observe(\.count) { _, _ in gate.pass() }
    let second = reader.observe(\.count) { _, _ in }
    let set = onThread { counter.count = 1 }
    gate.waitUntilReached()
    let more = TokenBag()
    for _ in 0..<100 { more.insert(counter.observe(\.count) { _, _ in }) }
    second.cancel()
    let before = reader.reads.count
    #expect(before > 0)
    gate.open()
    set()
    #expect(reader.reads.count == before)
    withExtendedLifetime(first) {}
  }

  @Test("K4 cancelAndWait returns after the call that is running")
  func k4() async {
    let gate = Gate()
    let heard = Recorder<String>()
    let token = counter.observe(\.count) { _, _ in
      gate.pass()
      heard.record("call")
    }
    let counter = counter
    let set = onThread { counter.count = 1 }
    gate.waitUntilReached()
    let wait = onThread {
      _ = token.cancelAndWait()
      heard.record("waited")
    }
    token.registration.waitUntilWaitedFor { heard.count > 0 }
    gate.open()
    wait()
    set()
    #expect(heard.values == ["call", "waited"])
  }

  @Test("K4 Inside an observer cancelAndWait returns at once")
  func k4Inside() {
    let results = Recorder<Registration.Wait>()
    let registration = Slot<Registration>()
    let result = kvo.observe(counter, \.count) { _, _, _ in
      guard let registration = registration.value else { return }
      results.record(registration.cancelAndWait())
    }
    registration.set(result.registration)
    counter.count = 1
    #expect(results.values == [.insideObserver])
  }

  @Test("K5 The observers of one property are called in the order in which they registered")
  func k5() {
    let results = (0..<10).map { index in
      kvo.observe(counter, \.count, policy: .append) { owner, _, _ in
        owner.lines.record("\(index)")
      }
    }
    results[3].registration.cancel()
    counter.count = 1
    #expect(owner.lines.values == ["0", "1", "2", "4", "5", "6", "7", "8", "9"])
  }

  @Test("K7 An observer may set, observe, unobserve and release anything")
  func k7() {
    let log = Log()
    let radio = Radio()
    var spare: Radio? = Radio()
    log.kvo.observe(spare!, \.volume) { _, _, _ in }
    log.kvo.observe(radio, \.volume) { log, radio, change in
      radio.station = "\(change.new)"
      spare = nil
      log.kvo.observe(radio, \.station, options: .initial) { log, _, change in
        log.lines.append(change.new)
      }
      log.kvo.unobserveAll()
    }
    radio.volume = 1
    radio.volume = 2
    #expect(log.lines == ["1"])
    #expect(spare == nil)
  }

  @Test("K7 What a closure captured may change the object while it is released")
  func k7Release() {
    final class Guardian {
      let radio: Radio
      init(_ radio: Radio) { self.radio = radio }
      deinit { radio.volume += 1 }
    }
    let log = Log()
    let radio = Radio()
    let guardian = Guardian(radio)
    log.kvo.observe(radio, \.station) { _, _, _ in withExtendedLifetime(guardian) {} }
    log.kvo.observe(radio, \.volume) { log, _, change in log.lines.append("\(change.new)") }
    log.kvo.unobserve(radio, \.station)
    radio.volume = 10
    #expect(log.lines.last == "10")
  }

  @Test("K13 An observer that throws stops nobody, and its place is reported", arguments: widths)
  func k13(width: Int) {
    let (meter, failures, heard) = (Meter(), Recorder<Int>(), Recorder<Int>())
    let kvo = KVOController(owner: owner, onError: { failures.record($0.line) })
    defer { withExtendedLifetime(kvo) {} }
    let line = #line + 1
    kvo.observe(meter, \.count) { _, _, _ in throw TestFailure() }
    kvo.observe(meter, \.count, policy: .append) { _, _, change in heard.record(change.new) }
    onThreads(width) { _ in for _ in 0..<10 { meter.increment() } }
    #expect(failures.values == Array(repeating: line, count: width * 10))
    #expect(heard.count == width * 10)
  }

  @Test(
    "K14 One thread at a time calls an observer, and its last change has the newest value",
    arguments: widths)
  func k14(width: Int) {
    for _ in 0..<20 {
      let (counter, overlap) = (Counter(), OverlapDetector())
      let heard = (0..<2).map { _ in Recorder<Int>() }
      let tokens = [
        counter.observe(\.count) { _, change in heard[0].record(change.new * 2) },
        counter.observe(\.double) { _, change in overlap.run { heard[1].record(change.new) } },
      ]
      onThreads(width) { _ in for _ in 0..<50 { counter.increment() } }
      #expect(!overlap.hasOverlapped)
      for values in heard.map(\.values) {
        #expect(values.last == counter.double && values == values.sorted())
      }
      withExtendedLifetime(tokens) {}
    }
  }

  @Test("K14 A change made while another thread is inside the observer is left to that thread")
  func k14Left() {
    let gate = Gate()
    let heard = Recorder<[Int]>()
    let counter = counter
    let token = counter.observe(\.double) { _, change in
      if change.new == 2 { gate.pass() }
      heard.record([change.new, Int(bitPattern: CallingThread.id)])
    }
    let first = onThread { counter.count = 1 }
    gate.waitUntilReached()
    counter.count = 5
    #expect(heard.count == 0)
    gate.open()
    first()
    #expect(heard.values.map { $0[0] } == [2, 10])
    #expect(Set(heard.values.map { $0[1] }).count == 1)
    withExtendedLifetime(token) {}
  }

  @Test("K15 What is observed can be listed and counted, exactly", arguments: widths)
  func k15(width: Int) {
    let counters = (0..<width).map { _ in Counter() }
    defer { withExtendedLifetime(counters) {} }
    let kvo = kvo
    onThreads(width) { index in
      for _ in 0..<50 {
        kvo.observe(counters[index], \.count) { _, _, _ in }
        kvo.unobserve(counters[index], \.count)
      }
      kvo.observe(counters[index], \.count) { _, _, _ in }
    }
    #expect(kvo.observationCount == width)
    #expect(kvo.description.split(separator: "\n").count == width + 1)
  }
}

/// A switch that any thread may set.
final class Flag: Sendable {
  private let state = Locked(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}
