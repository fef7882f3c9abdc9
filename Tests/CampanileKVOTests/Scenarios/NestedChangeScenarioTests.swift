import Campanile
import CampanileKVO
import Observation
import Testing

/// Changes that are made while another one is told, made or kept back.
@Suite("Nested changes: scenarios")
struct NestedChangeScenarioTests {
  let radio = Radio()

  @Test("A change that an observer takes back is told to those after it, and is none for distinct")
  func takenBack() {
    var second: [String] = []
    var distinct: [Int] = []
    let tokens = [
      radio.observe(\.volume) { radio, change in if change.new == 1 { radio.volume = 0 } },
      radio.observe(\.volume, .old) { _, change in
        second.append("\(change.old ?? -1) \(change.new)")
      },
      radio.observe(\.volume, .distinct) { _, change in distinct.append(change.new) },
    ]
    radio.volume = 1
    #expect(second == ["1 0", "0 0"])
    #expect(distinct.isEmpty)
    radio.volume = 2
    #expect(distinct == [2])
    withExtendedLifetime(tokens) {}
  }

  @Test("A prior call that takes the object off the path leaves the observer with what there is")
  func detachedInPrior() {
    radio.next = Radio()
    weak let detached = radio.next
    var isFirst = true
    var told: [String] = []
    let token = radio.observe(\.next?.volume, .prior) { radio, change in
      told.append("\(change.phase) \(change.new ?? -1)")
      guard isFirst else { return }
      isFirst = false
      radio.next = nil
    }
    radio.next?.volume = 1
    #expect(detached == nil)
    #expect(told == ["prior 0", "prior 0", "changed -1"])
    radio.next = Radio()
    #expect(told.suffix(2) == ["prior -1", "changed 0"])
    withExtendedLifetime(token) {}
  }

  @Test("A path that grows in a transaction is told once, and followed to its end afterwards")
  func grownInTransaction() {
    var told: [String] = []
    let token = radio.observe(\.next?.next?.volume, .old) { _, change in
      told.append("\(change.old.flatMap { $0 } ?? -1) \(change.new ?? -1)")
    }
    KVOTransaction.perform {
      let next = Radio()
      radio.next = next
      next.next = Radio()
      next.next?.volume = 3
    }
    #expect(told == ["-1 3"])
    radio.next?.next?.volume = 4
    #expect(told == ["-1 3", "3 4"])
    withExtendedLifetime(token) {}
  }

  @Test("K8 What an object changes in its own deinit is told to nobody, in a transaction or not")
  func changesInDeinit() {
    final class Last: Observable {
      @Observed var number = 0
      @Observed var items: [Int] = []
      deinit {
        number = 1
        items.append(1)
        KVOTransaction.perform {
          number = 2
          items = []
        }
      }
    }
    var told = 0
    for isInTransaction in [false, true] {
      var last: Last? = Last()
      let tokens = [
        last?.observe(\.number, [.old, .prior]) { _, _ in told += 1 },
        last?.observe(\.items) { _, _ in told += 1 },
      ]
      if isInTransaction { KVOTransaction.perform { last = nil } } else { last = nil }
      #expect(tokens.allSatisfy { $0?.isActive == false })
    }
    #expect(told == 0)
  }
}
