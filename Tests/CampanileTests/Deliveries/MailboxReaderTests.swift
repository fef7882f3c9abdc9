import TestSupport
import Testing

@testable import Campanile

/// What a mailbox decides that a reader empties.
@Suite("The state of a mailbox that is read", .ownThread)
struct MailboxReaderTests {
  /// Takes a value in for a reader.
  ///
  /// - Returns: What became of it, the value that left, and whether the reader is to be woken.
  private func append(
    _ value: Int, to state: MailboxMachine
  ) -> (Buffering.Admission?, left: Int, wakes: Bool) {
    var (envelope, value, wake) = (Envelope(), value, Urgency?.none)
    let admission = state.state.admit(&envelope, &value, &wake, by: .medium)
    return (admission, value, wake != nil)
  }

  @Test("K6 Values are read in the order they came, however the two alternate")
  func readsInOrder() throws {
    let state = MailboxMachine(.unbounded, isRead: true)
    var (next, expected) = (0, 0)
    for round in 0..<400 {
      for _ in 0..<(round % 13) {
        let (admission, _, wakes) = append(next, to: state)
        #expect(admission == .free)
        #expect(!wakes)
        next += 1
      }
      for _ in 0..<(round % 11) {
        if expected < next {
          let value = try state.read()
          #expect(value == expected)
          expected += 1
        } else {
          let nothing = #expect(throws: MailboxState.IsEmpty.self) { try state.read() }
          #expect(nothing?.isFinal == false)
        }
      }
      #expect(state.waitingCount == next - expected)
    }
  }

  @Test("K6 A reader reads what it waited for first, and after the end what is left")
  func readsAwaitedFirst() throws {
    let state = MailboxMachine(.unbounded, isRead: true)
    #expect(state.wait())
    #expect(append(1, to: state).wakes)
    for value in 2...3 { #expect(!append(value, to: state).wakes) }
    for value in 1...3 { #expect(try state.read() == value) }
    #expect(append(4, to: state).0 == .free)
    #expect(!state.finish())
    #expect(try state.read() == 4)
    let nothing = #expect(throws: MailboxState.IsEmpty.self) { try state.read() }
    #expect(nothing?.isFinal == true)
  }

  @Test("K12 A reader that waits is woken once, for a value that takes no room", arguments: [1, 2])
  func wakes(capacity: Int) throws {
    for buffering in [Buffering.newest(capacity), .oldest(capacity)] {
      let state = MailboxMachine(buffering, isRead: true)
      #expect(state.wait())
      let first = append(0, to: state)
      #expect(first.0 == .free)
      #expect(first.wakes)
      for value in 1...capacity {
        let next = append(value, to: state)
        #expect(next.0 == .free)
        #expect(!next.wakes)
      }
      let last = append(9, to: state)
      #expect(last.0 != .free)
      #expect(last.left == (buffering == .newest(capacity) ? 1 : 9))
      // Whoever was woken, and has not read, does not wait.
      #expect(!state.wait())
      #expect(try state.read() == 0)
      while state.waitingCount > 0 { _ = try state.read() }
      #expect(state.wait())
      #expect(append(10, to: state).wakes)
    }
  }

  @Test("The end leaves what has gathered to be read, and a reader that gives up leaves nothing")
  func ends() throws {
    for givesUp in [false, true] {
      let state = MailboxMachine(.unbounded, isRead: true)
      #expect(state.wait())
      for value in 1...2 { _ = append(value, to: state) }
      #expect(!state.finish())
      let late = append(3, to: state)
      #expect(late.0 == nil)
      #expect(late.left == 3)
      if givesUp {
        var parts: [Int] = []
        while state.giveUp() {
          parts.append(state.count)
          state.discardAll()
        }
        #expect(parts == [1, 1])
      } else {
        #expect(try state.read() == 1)
        #expect(try state.read() == 2)
      }
      #expect(state.waitingCount == 0)
      let nothing = #expect(throws: MailboxState.IsEmpty.self) { try state.read() }
      #expect(nothing?.isFinal == true)
      #expect(!state.wait())
    }
  }

  @Test("The end wakes a reader that waits, once")
  func endWakes() {
    let state = MailboxMachine(.unbounded, isRead: true)
    #expect(state.wait())
    #expect(state.finish())
    #expect(!state.finish())
    #expect(!state.wait())
  }
}
