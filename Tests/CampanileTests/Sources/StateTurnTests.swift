import TestSupport
import Testing

@testable import Campanile

/// What decides who tells, without a lock, a value and threads.
@Suite("The turn of a state", .ownThread)
struct StateTurnTests {
  private final class Machine {
    private var turn = Turn()
    private let made = Slot<Int>()

    func begin() -> Bool { turn.begin() }
    func end() -> Bool { turn.end() }
    func add(_ number: Int) { turn.add { [made] in made.set(number) } }
    func offer() { turn.offer() }
    var isIdle: Bool { turn.isIdle }

    /// Makes the oldest call.
    func next(isMine: Bool) -> Int? {
      guard let call = turn.next(isMine: isMine) else { return nil }
      call.make.value()
      return made.value
    }
  }

  private let machine = Machine()

  @Test("K14 A call with nothing ahead of it begins a turn, and ends it")
  func alone() {
    for _ in 0..<2 {
      #expect(machine.isIdle)
      #expect(machine.begin())
      #expect(!machine.isIdle)
      #expect(machine.end())
    }
  }

  @Test("K14 Whoever adds a call while another thread makes calls leaves it to that thread")
  func others() {
    #expect(machine.begin())
    for number in 2...4 {
      #expect(!machine.begin())
      machine.add(number)
      #expect(machine.next(isMine: false) == nil)
    }
    #expect(!machine.end())
    for number in 2...4 { #expect(machine.next(isMine: true) == number) }
    // Until it has looked in vain, it has the turn.
    #expect(!machine.begin())
    machine.add(5)
    #expect(machine.next(isMine: true) == 5)
    #expect(machine.next(isMine: true) == nil)
    #expect(machine.begin())
  }

  @Test("K14 What is offered goes to the next thread, which makes its own call last")
  func offer() {
    #expect(machine.begin())
    machine.add(2)
    machine.offer()
    #expect(!machine.begin())
    machine.add(3)
    #expect(machine.next(isMine: false) == 2)
    // The thread that offered is too late.
    #expect(machine.next(isMine: false) == nil)
    #expect(machine.next(isMine: true) == 3)
    #expect(machine.next(isMine: true) == nil)
  }

  @Test("K14 What nobody takes is taken back")
  func takenBack() {
    #expect(machine.begin())
    machine.add(2)
    machine.offer()
    #expect(machine.next(isMine: false) == 2)
    machine.add(3)
    #expect(machine.next(isMine: false) == nil)
    #expect(machine.next(isMine: true) == 3)
  }

  @Test("After an offer of nothing, the next thread makes its own call")
  func emptyOffer() {
    #expect(machine.begin())
    machine.offer()
    #expect(machine.next(isMine: false) == nil)
    #expect(machine.begin())
  }

  @Test("K16 Calls that nobody makes are released with the turn")
  func released() {
    let count = LiveCount()
    do {
      let tracked = Tracked(count)
      var turn = Turn()
      turn.add { tracked.touch() }
    }
    #expect(count.current == 0)
  }
}
