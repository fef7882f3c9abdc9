import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Transactions", .ownThread)
struct TransactionTests {
  let log = Log()
  let player = Player()

  private func follow<Value>(
    _ keyPath: KeyPath<Player, Value>, _ options: KVOChange<Value>.Options = .old
  ) {
    log.kvo.observe(player, keyPath, options: options) { log, _, change in
      let old = change.old.map { "\($0)" } ?? "-"
      log.lines.append("\(change.phase) \(old) -> \(change.new) \(change.changedPaths.count)")
    }
  }

  @Test("Several changes are told as one, with the first old and the final new value")
  func one() {
    follow(\.level)
    follow(\.line)
    follow(\.title, [.prior, .old])
    KVOTransaction.perform {
      player.level = 1
      player.artist = "Bach"
      player.title = "Aria"
      (player.level, player.title) = (2, "Duet")
      #expect(log.lines == ["prior  ->  1"])
    }
    // Each once, in the order of the first changes.
    #expect(
      log.lines.dropFirst() == [
        "changed 0 -> 2 1", "changed :  -> Bach: Duet 2", "changed  -> Duet 1",
      ])
  }

  @Test("An inner error that is caught inside does not end the outer transaction")
  func innerError() {
    follow(\.level)
    KVOTransaction.perform {
      try? KVOTransaction.perform {
        player.level = 1
        throw TestFailure()
      }
      #expect(log.lines.isEmpty)
      player.level = 2
    }
    #expect(log.lines == ["changed 0 -> 2 1"])
  }

  @Test("A transaction returns what its body returns, and tells nothing if nothing changed")
  func empty() {
    follow(\.level)
    #expect(KVOTransaction.perform { 7 } == 7)
    #expect(log.lines.isEmpty)
  }

  @Test("Changed back is a change, unless distinct")
  func changedBack() {
    follow(\.level, .old)
    log.kvo.observe(player, \.level, options: .distinct, policy: .append) { log, _, _ in
      log.lines.append("distinct")
    }
    KVOTransaction.perform {
      player.level = 1
      player.level = 0
    }
    #expect(log.lines == ["changed 0 -> 0 1"])
  }

  @Test("A change that an observer makes at the end is told by itself")
  func changeWhileTelling() {
    log.kvo.observe(player, \.level, options: .old) { log, player, change in
      log.lines.append("\(change.old ?? -1) -> \(change.new)")
      if change.new == 2 { player.level = 9 }
    }
    KVOTransaction.perform {
      player.level = 1
      player.level = 2
    }
    #expect(log.lines == ["0 -> 2", "2 -> 9"])
  }

  @Test("An observation that ends inside a transaction is not told")
  func endedInside() {
    follow(\.level)
    KVOTransaction.perform {
      player.level = 1
      log.kvo.unobserveAll()
    }
    #expect(log.lines.isEmpty)
  }

  @Test("An observed object that dies inside a transaction is not told of")
  func deathInside() {
    KVOTransaction.perform {
      let player = Player()
      log.kvo.observe(player, \.level) { log, _, _ in log.lines.append("told") }
      player.level = 1
    }
    #expect(log.lines.isEmpty)
  }

  @Test("Many objects are told each once, in the order of their first changes, with their names")
  func manyObjects() {
    let radios = (0..<10_000).map { _ in Radio() }
    var told: [Int] = []
    var names: [[KVOPath]] = []
    let tokens = radios.enumerated().map { index, radio in
      radio.observe(\.volume) { _, change in
        told.append(index)
        names.append(change.changedPaths)
      }
    }
    KVOTransaction.perform {
      for radio in radios { radio.volume = 1 }
      for radio in radios.reversed() { radio.volume = 2 }
    }
    #expect(told == Array(0..<10_000))
    #expect(names.count == 10_000)
    #expect(names.allSatisfy { $0 == [KVOPath(\Radio.volume)] })
    withExtendedLifetime(tokens) {}
  }

  @Test("Many changes of what one computed property is made of are one change with all names")
  func manyProperties() {
    let shelves = (0..<300).map { Shelf($0) }
    final class Sum: Observable {
      let shelves: [Shelf<Int>]
      init(_ shelves: [Shelf<Int>]) { self.shelves = shelves }
      var sum: Int { shelves.reduce(0) { $0 + $1.item } }
    }
    let sum = Sum(shelves)
    var heard: [Int] = []
    let token = sum.observe(\.sum) { _, change in
      heard.append(change.new)
      // All are the same key path, of objects of their own.
      #expect(change.changedPaths == [KVOPath(\Shelf<Int>.item)])
    }
    KVOTransaction.perform { for round in 1...2 { for shelf in shelves { shelf.item = round } } }
    #expect(heard == [600])
    withExtendedLifetime(token) {}
  }

  @Test("K9 What a dead object changed is not said of another one at its address")
  func reusedAddress() {
    var names: [[KVOPath]] = []
    KVOTransaction.perform {
      for _ in 0..<100 {
        Radio().station = "One"
        let radio = Radio()
        let token = radio.observe(\.volume) { _, change in names.append(change.changedPaths) }
        KVOTransaction.perform { radio.volume = 1 }
        withExtendedLifetime(token) {}
      }
    }
    #expect(names.isEmpty)
    var kept: [(Radio, ObservationToken)] = []
    KVOTransaction.perform {
      for _ in 0..<100 {
        Radio().station = "One"
        let radio = Radio()
        kept.append(
          (radio, radio.observe(\.volume) { _, change in names.append(change.changedPaths) }))
        radio.volume = 1
      }
    }
    #expect(names == Array(repeating: [KVOPath(\Radio.volume)], count: 100))
  }
}

/// Transactions with what may happen in them, around them and at their end.
@Suite("Transactions: scenarios", .ownThread)
struct TransactionScenarioTests {
  let log = Log()
  let radio = Radio()

  struct Other: Error, Equatable { let number: Int }

  init() {
    log.follow(radio, \.volume, .old)
  }

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
}
