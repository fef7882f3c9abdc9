import Testing

@testable import Campanile

/// What a current value decides, without its lock, its value and its threads.
@Suite("The state of a current value", .ownThread)
struct CurrentValueStateTests {
  private final class Machine {
    private var state = CurrentValueState()

    func set(isHeard: Bool = true) -> CurrentValueState.Turn? { state.set(isHeard) }
    func keep(_ change: Int) { state.keep(change) }
    func next() -> Int? { state.next() }
    func stop() -> Bool { state.stop() }
    func takeTurn() -> CurrentValueState.Turn { state.takeTurn() }
    func offer() { state.offer() }
    func takeBack() -> Bool { state.takeBack() }
    func giveUp(_ batch: inout RecordBuffer) { state.giveUp(&batch) }
    var revision: UInt64 { state.revision }
  }

  @Test("K14 Each set is counted, and told to those who follow")
  func counts() {
    let machine = Machine()
    #expect(machine.set(isHeard: false) == nil)
    #expect(machine.set() == .first)
    #expect(machine.stop())
    #expect(machine.set(isHeard: false) == nil)
    #expect(machine.revision == 3)
  }

  @Test("K14 Whoever sets while another thread tells leaves the change to that thread")
  func others() {
    let machine = Machine()
    #expect(machine.set() == .first)
    for change in 2...4 {
      #expect(machine.set() == .others)
      machine.keep(change)
    }
    #expect(!machine.stop())
    for change in 2...4 { #expect(machine.next() == change) }
    // Until it has looked in vain, it tells.
    #expect(machine.set() == .others)
    machine.keep(5)
    #expect(machine.next() == 5)
    #expect(machine.next() == nil)
    #expect(machine.set() == .first)
  }

  @Test("K14 A change is left to the thread that tells, whether anybody follows now or not")
  func unheardMeanwhile() {
    let machine = Machine()
    #expect(machine.set() == .first)
    #expect(machine.set(isHeard: false) == .others)
  }

  @Test("K14 What is offered goes to the next thread, which tells its own change last")
  func offer() {
    let machine = Machine()
    _ = machine.set()
    _ = machine.set()
    machine.keep(2)
    machine.offer()
    #expect(machine.set() == .next)
    machine.keep(3)
    #expect(!machine.takeBack())
    #expect(machine.next() == 2)
    #expect(machine.next() == 3)
    #expect(machine.next() == nil)
  }

  @Test("K14 What nobody takes is taken back")
  func takeBack() {
    let machine = Machine()
    _ = machine.set()
    _ = machine.set()
    machine.keep(2)
    machine.offer()
    #expect(machine.takeBack())
    #expect(machine.set() == .others)
    machine.keep(3)
    #expect(machine.next() == 2)
    #expect(machine.next() == 3)
  }

  @Test("An offer of nothing is not taken back: the next set is told by its own thread")
  func emptyOffer() {
    let machine = Machine()
    _ = machine.set()
    machine.offer()
    #expect(!machine.takeBack())
    #expect(machine.set() == .first)
  }

  @Test("K14 The request of a follower takes its turn behind what waits, and counts as no set")
  func request() {
    let machine = Machine()
    #expect(machine.takeTurn() == .first)
    machine.keep(1)
    #expect(machine.set() == .others)
    machine.keep(2)
    #expect(machine.revision == 1)
    #expect(machine.next() == 1)
    #expect(machine.next() == 2)
    #expect(machine.next() == nil)
  }

  @Test("K16 Changes that nobody will tell are given up")
  func givesUp() {
    let machine = Machine()
    _ = machine.set()
    _ = machine.set()
    machine.keep(2)
    var batch = RecordBuffer()
    machine.giveUp(&batch)
    #expect(batch.count == 1)
    batch.discardAll()
    #expect(machine.next() == nil)
  }
}
