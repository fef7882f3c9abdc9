import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

/// Transactions with what may happen in them, around them and at their end.
@Suite("Transactions: scenarios")
struct TransactionScenarioTests {
  let log = Log()
  let radio = Radio()
  let counter = Counter()

  struct Other: Error, Equatable { let number: Int }

  private let registration: Registration

  init() {
    registration =
      log.kvo.observe(radio, \.volume, .old) { log, _, change in
        log.lines.append("\(change.old ?? -1) -> \(change.new)")
      }.registration
  }

  // MARK: Errors

  @Test("An error passes all transactions around it, and what changed is told at the last of them")
  func errorThroughAll() {
    let (log, radio) = (log, radio)
    let error = #expect(throws: Other.self) {
      try KVOTransaction.perform { () throws(Other) in
        radio.volume = 1
        try KVOTransaction.perform { () throws(Other) in
          radio.volume = 2
          throw Other(number: 7)
        }
      }
    }
    #expect(error == Other(number: 7))
    #expect(log.lines == ["0 -> 2"])
  }

  @Test("An error after an inner transaction that ended well tells the changes of both, once")
  func errorAfterInner() {
    let (log, radio) = (log, radio)
    #expect(throws: TestFailure.self) {
      try KVOTransaction.perform {
        KVOTransaction.perform { radio.volume = 1 }
        radio.volume = 2
        #expect(log.lines.isEmpty)
        throw TestFailure()
      }
    }
    #expect(log.lines == ["0 -> 2"])
    radio.volume = 3
    #expect(log.lines == ["0 -> 2", "2 -> 3"])
  }

  @Test("An error before any change tells nothing")
  func errorFirst() {
    #expect(throws: TestFailure.self) {
      try KVOTransaction.perform { throw TestFailure() }
    }
    #expect(log.lines.isEmpty)
    radio.volume = 1
    #expect(log.lines == ["0 -> 1"])
  }

  @Test("An observer that throws at the end stops none of the others")
  func throwingObserver() {
    let failures = Recorder<String>()
    let kvo = KVOController(owner: log, onError: { failures.record("\($0.error)") })
    let other = Radio()
    kvo.observe(other, \.volume) { _, _, _ in throw TestFailure() }
    KVOTransaction.perform {
      other.volume = 1
      radio.volume = 1
    }
    #expect(failures.values == ["TestFailure()"])
    #expect(log.lines == ["0 -> 1"])
    withExtendedLifetime((kvo, other)) {}
  }

  // MARK: Nesting

  @Test(
    "A transaction that an observer performs is told inside its call", arguments: [false, true])
  func insideObserver(isOuterTransaction: Bool) {
    let other = Radio()
    log.kvo.observe(other, \.volume) { log, _, change in log.lines.append("other \(change.new)") }
    log.kvo.observe(radio, \.station) { log, _, _ in
      KVOTransaction.perform {
        other.volume = 1
        other.volume = 2
        log.lines.append("inside")
      }
      log.lines.append("after")
    }
    if isOuterTransaction {
      KVOTransaction.perform { radio.station = "One" }
    } else {
      radio.station = "One"
    }
    #expect(log.lines == ["inside", "other 2", "after"])
  }

  @Test("What a prior call changes in a transaction is part of it")
  func changeInPrior() {
    let other = Radio()
    log.kvo.observe(other, \.volume, .prior) { [radio] log, _, change in
      log.lines.append("other \(change.phase) \(change.new)")
      if change.phase == .prior { radio.volume += 1 }
    }
    KVOTransaction.perform {
      other.volume = 1
      other.volume = 2
      #expect(log.lines == ["other prior 0"])
    }
    #expect(log.lines.sorted() == ["0 -> 1", "other changed 2", "other prior 0"])
    withExtendedLifetime(other) {}
  }

  @Test("Ten transactions inside each other are one", arguments: [1, 2, 10])
  func depth(depth: Int) {
    func perform(_ rest: Int) {
      KVOTransaction.perform {
        radio.volume += 1
        if rest > 1 { perform(rest - 1) }
        radio.volume += 1
      }
      if rest < depth { #expect(log.lines.isEmpty) }
    }
    perform(depth)
    #expect(log.lines == ["0 -> \(depth * 2)"])
  }

  // MARK: Who comes and goes

  @Test("An observer that comes in a transaction is told what changes after it")
  func observerInside() {
    var lines: [String] = []
    var tokens: [ObservationToken] = []
    KVOTransaction.perform {
      radio.volume = 1
      radio.station = "One"
      tokens.append(
        radio.observe(\.volume, [.initial, .old]) { _, change in
          lines.append("\(change.phase) \(change.old ?? -1) \(change.new)")
        })
      tokens.append(radio.observe(\.station) { _, change in lines.append(change.new) })
      #expect(lines == ["initial -1 1"])
      radio.volume = 2
    }
    // The change had begun before.
    #expect(lines == ["initial -1 1", "changed -1 2"])
    #expect(log.lines == ["0 -> 2"])
    withExtendedLifetime(tokens) {}
  }

  @Test("An observer that is ended by one told before it is not told")
  func endedByAnother() {
    let other = Radio()
    let kvo = log.kvo
    log.kvo.observe(other, \.volume) { [radio] log, _, _ in
      log.lines.append("other")
      kvo.unobserve(radio)
    }
    KVOTransaction.perform {
      other.volume = 1
      radio.volume = 1
    }
    #expect(log.lines == ["other"])
    withExtendedLifetime(other) {}
  }

  @Test("An observer that is paused at the end is not told, and not later either")
  func pausedAtTheEnd() {
    KVOTransaction.perform {
      radio.volume = 1
      registration.pause()
    }
    registration.resume()
    #expect(log.lines.isEmpty)
    radio.volume = 2
    #expect(log.lines == ["1 -> 2"])
  }

  @Test("An observation that is to be told once is told the whole transaction")
  func once() {
    let other = Radio()
    log.kvo.observe(other, \.volume, [.once, .old]) { log, _, change in
      log.lines.append("once \(change.old ?? -1) \(change.new)")
    }
    KVOTransaction.perform {
      other.volume = 1
      other.volume = 2
    }
    other.volume = 3
    #expect(log.lines == ["once 0 2"])
  }

  @Test("An object on the way that comes and goes in a transaction leaves nothing followed")
  func detour() {
    let (first, second) = (Radio(), Radio())
    (first.volume, second.volume) = (1, 2)
    radio.next = first
    log.kvo.observe(radio, \.next?.volume, .old) { log, _, change in
      let old = (change.old ?? nil) ?? -1
      log.lines.append("next \(old) -> \(change.new ?? -1)")
    }
    KVOTransaction.perform {
      radio.next = second
      second.volume = 3
      radio.next = nil
      second.volume = 4
      radio.next = first
      first.volume = 5
    }
    second.volume = 6
    first.volume = 7
    #expect(log.lines == ["next 1 -> 5", "next 5 -> 7"])
  }

  // MARK: Elsewhere

  @Test("On a queue a transaction is one change, with the values of its end")
  func onQueue() async {
    let owner = SharedLog()
    let queue = DispatchQueue(label: "kvo")
    queue.suspend()
    counter.changes(of: \.double, [.old, .prior]).observe(owner: owner, on: .queue(queue)) {
      $0.lines.record("\($1.phase) \($1.old ?? -1) \($1.new)")
    }
    KVOTransaction.perform { for value in 1...3 { counter.count = value } }
    counter.count = 9
    queue.resume()
    await withCheckedContinuation { done in queue.async { done.resume() } }
    #expect(
      owner.lines.values == ["prior 0 0", "changed 0 6", "prior 6 6", "changed 6 18"])
  }

  @Test("A sequence has one change for each transaction")
  func sequence() async {
    let values = counter.changes(of: \.count, .old).values()
    for round in 1...3 {
      KVOTransaction.perform { for _ in 0..<round { counter.increment() } }
    }
    var heard: [String] = []
    for await change in values {
      heard.append("\(change.old ?? -1) -> \(change.new)")
      if change.new == 6 { break }
    }
    #expect(heard == ["0 -> 1", "1 -> 3", "3 -> 6"])
  }

  @Test("A change that another thread makes meanwhile is told there, and the end after it")
  func otherThread() {
    let heard = Recorder<String>()
    let counter = counter
    let token = counter.observe(\.count, .old) { _, change in
      heard.record("\(change.new)")
    }
    KVOTransaction.perform {
      counter.count = 1
      onThread { counter.count = 5 }()
      #expect(heard.values == ["5"])
      counter.count = 2
      #expect(heard.values == ["5"])
    }
    #expect(heard.values == ["5", "2"])
    withExtendedLifetime(token) {}
  }

  // Broken by: ChangeKeeper.keepBack, if it adds to what another thread's transaction has kept back.
  @Test("A transaction is told where and when it ends, also inside another thread's")
  func otherThreadsTransaction() {
    let heard = Recorder<String>()
    let counter = counter
    let token = counter.observe(\.count, [.old, .prior]) { _, change in
      heard.record("\(change.phase) \(change.old ?? -1) \(change.new)")
    }
    KVOTransaction.perform {
      counter.count = 1
      onThread {
        KVOTransaction.perform {
          counter.count = 2
          counter.count = 3
        }
        heard.record("other thread ends")
      }()
      heard.record("this thread ends")
    }
    #expect(
      heard.values == [
        "prior 0 0", "prior 1 1", "changed 1 3", "other thread ends", "this thread ends",
        "changed 0 3",
      ])
    withExtendedLifetime(token) {}
  }

  @Test("A transaction keeps its changes back while another thread makes one")
  func otherThreadsChange() {
    let heard = Recorder<String>()
    let counter = counter
    let token = counter.observe(\.count, .old) { _, change in
      heard.record("\(change.old ?? -1) \(change.new)")
    }
    KVOTransaction.perform {
      counter.count = 1
      onThread { counter.count = 2 }()
      heard.record("end")
    }
    #expect(heard.values == ["1 2", "end", "0 2"])
    withExtendedLifetime(token) {}
  }

  // Broken by: ChangeKeeper.begin, if a change in a transaction has no old value of its own.
  @Test("A change announced in a transaction that another thread takes back has its old value")
  func takenBackElsewhere() {
    final class Tally: SharedObservable {
      private let registrar = KVORegistrar()
      private let number = Locked(0)
      var count: Int {
        get {
          registrar.access(self, keyPath: \.count)
          return number.withLock { $0 }
        }
        set { registrar.withMutation(of: self, keyPath: \.count) { replace(by: newValue) } }
      }
      func replace(by newValue: Int) { number.withLock { $0 = newValue } }
      func will() { registrar.willChange(self, keyPath: \.count) }
      func did() { registrar.didChange(self, keyPath: \.count) }
    }
    let heard = Recorder<String>()
    let tally = Tally()
    let token = tally.observe(\.count, .old) { _, change in
      heard.record("\(change.old ?? -1) \(change.new)")
    }
    KVOTransaction.perform {
      tally.count = 1
      tally.will()
      onThread {
        tally.replace(by: 2)
        tally.did()
      }()
      heard.record("end")
    }
    #expect(heard.values == ["0 2", "end", "0 2"])
    withExtendedLifetime(token) {}
  }

  // Broken by: ChangeKeeper.keepBack, if it adds to what a transaction that is ending has kept back.
  @Test("A transaction that an observer performs is told inside its call, with what is yet untold")
  func insideObserverOfTheSame() {
    var lines: [String] = []
    let radio = Radio()
    let tokens = [
      radio.observe(\.station) { radio, _ in
        KVOTransaction.perform {
          radio.volume = 2
          radio.volume = 3
        }
        lines.append("inner ends")
      },
      radio.observe(\.volume, .old) { _, change in
        lines.append("\(change.old ?? -1) \(change.new)")
      },
    ]
    KVOTransaction.perform {
      radio.station = "One"
      radio.volume = 1
    }
    #expect(lines == ["0 3", "inner ends"])
    withExtendedLifetime(tokens) {}
  }

  // Broken by: ChangeKeeper.keepBack, if transactions of several threads share a report.
  @Test("Each of many threads' transactions of one object is told", arguments: [2, 8])
  func eachOfMany(width: Int) {
    let counter = Counter()
    let heard = Recorder<Int>()
    let token = counter.observe(\.count) { _, change in heard.record(change.new) }
    onThreads(width) { _ in
      for _ in 0..<50 {
        KVOTransaction.perform {
          counter.increment()
          counter.increment()
        }
      }
    }
    #expect(heard.count == width * 50)
    #expect(heard.values.last == width * 100)
    withExtendedLifetime(token) {}
  }

  @Test(
    "K14 Transactions of one object on many threads end with the newest value, told no more often",
    arguments: [2, 8])
  func manyThreads(width: Int) {
    for _ in 0..<20 {
      let counter = Counter()
      let heard = Recorder<Int>()
      let tokens = [
        counter.observe(\.count) { _, change in heard.record(change.new) },
        counter.observe(\.double) { _, change in heard.record(change.new / 2) },
      ]
      onThreads(width) { _ in
        for _ in 0..<5 {
          KVOTransaction.perform { for _ in 0..<10 { counter.increment() } }
        }
      }
      let changes = width * 50
      #expect(counter.count == changes)
      #expect(heard.values.last == changes)
      #expect((2...2 * changes).contains(heard.count))
      let before = heard.count
      counter.increment()
      #expect(Array(heard.values[before...]) == [changes + 1, changes + 1])
      withExtendedLifetime(tokens) {}
    }
  }

  // MARK: Collections and announcements

  @Test("An edit and a setting in one transaction are a setting, whichever comes first")
  func editAndSetting() {
    for isEditFirst in [true, false] {
      let radio = Radio()
      var changes: [KVOChange<[String]>] = []
      let token = radio.observe(\.presets, .old) { _, change in changes.append(change) }
      KVOTransaction.perform {
        if isEditFirst { radio.mutableArray(\.presets).append("a") }
        radio.presets = ["x"]
        if !isEditFirst { radio.mutableArray(\.presets).append("a") }
      }
      #expect(changes.map(\.edit) == [.setting])
      #expect(changes.map(\.indexes) == [nil])
      #expect(changes[0].old == [])
      #expect(changes[0].difference()?.insertions.count == changes[0].new.count)
      withExtendedLifetime((token, radio)) {}
    }
  }

  @Test("A transaction between two announcements is told with the second one")
  func betweenAnnouncements() {
    let device = ManualTests.Device()
    var levels: [String] = []
    let token = device.observe(\.level, [.old, .prior]) { _, change in
      levels.append("\(change.phase) \(change.old ?? -1) \(change.new)")
    }
    device.will()
    KVOTransaction.perform {
      device.will()
      device.hardware = 1
      device.did()
    }
    #expect(levels == ["prior 0 0"])
    device.hardware = 2
    device.did()
    #expect(levels == ["prior 0 0", "changed 0 2"])
    withExtendedLifetime(token) {}
  }
}
