import Campanile
import CampanileKVO
import Observation
import Testing

/// Transactions with what may happen in them, around them and at their end.
@Suite("Transactions: scenarios", .ownThread)
struct TransactionScenarioTests {
  let log = Log()
  let radio = Radio()

  struct Other: Error, Equatable { let number: Int }

  private let registration: Registration

  init() {
    registration =
      log.kvo.observe(radio, \.volume, options: .old) { log, _, change in
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
    log.kvo.observe(other, \.volume, options: .prior) { [radio] log, _, change in
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
        radio.observe(\.volume, options: [.initial, .old]) { _, change in
          lines.append("\(change.phase) \(change.old ?? -1) \(change.new)")
        })
      tokens.append(radio.observe(\.station) { _, change in lines.append(change.new) })
      #expect(lines == ["initial -1 1"])
      radio.volume = 2
    }
    // The old value is the one that was reported before the transaction.
    #expect(lines == ["initial -1 1", "changed 0 2"])
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

  @Test("An object on the way that comes and goes in a transaction leaves nothing followed")
  func detour() {
    let (first, second) = (Radio(), Radio())
    (first.volume, second.volume) = (1, 2)
    radio.next = first
    log.kvo.observe(radio, \.next?.volume, options: .old) { log, _, change in
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

  @Test("A transaction between two announcements is told with the second one")
  func betweenAnnouncements() {
    let device = ManualTests.Device()
    var levels: [String] = []
    let token = device.observe(\.level, options: [.old, .prior]) { _, change in
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
