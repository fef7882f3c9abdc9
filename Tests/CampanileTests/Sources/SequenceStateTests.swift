import Testing

@testable import Campanile

@Suite("The state of a sequence's buffer")
struct SequenceStateTests {
  private final class Reader: SequenceReader {}

  /// What an append came to, with the reader that is to be resumed.
  private enum Outcome: Equatable {
    case kept, dropped, ignored
    case resumed(ObjectIdentifier)
  }

  /// Appends an element.
  ///
  /// - Returns: What that came to, and the element that has left.
  private func append(_ element: Int, to state: inout SequenceState) -> (Outcome, left: Int) {
    var element = element
    let action = state.append(&element)
    let outcome: Outcome =
      switch action {
      case .keep: .kept
      case .drop: .dropped
      case .ignore: .ignored
      case .resume(let reader): .resumed(ObjectIdentifier(reader))
      }
    return (outcome, element)
  }

  private func take(from state: inout SequenceState) -> Int? {
    do {
      let element: Int = try state.take()
      return element
    } catch {
      return nil
    }
  }

  @Test("K6 Elements are taken in the order they came, however the two alternate")
  func order() {
    var state = SequenceState(.unbounded)
    var (next, expected) = (0, 0)
    for round in 0..<400 {
      for _ in 0..<(round % 13) {
        let outcome = append(next, to: &state).0
        #expect(outcome == .kept)
        next += 1
      }
      for _ in 0..<(round % 11) {
        let element = take(from: &state)
        #expect(element == (expected < next ? expected : nil))
        if element != nil { expected += 1 }
      }
      let count = state.count
      #expect(count == next - expected)
    }
  }

  @Test(
    "K12 The newest push the oldest out, and the oldest refuse the newest", arguments: [1, 2, 8])
  func bounds(capacity: Int) {
    var newest = SequenceState(.newest(capacity))
    var oldest = SequenceState(.oldest(capacity))
    for element in 0..<20 {
      let (one, other) = (append(element, to: &newest), append(element, to: &oldest))
      #expect(one.0 == (element < capacity ? .kept : .dropped))
      #expect(other.0 == one.0)
      if element >= capacity {
        #expect(one.left == element - capacity)
        #expect(other.left == element)
      }
    }
    for place in 0..<capacity {
      let (one, other) = (take(from: &newest), take(from: &oldest))
      #expect(one == 20 - capacity + place)
      #expect(other == place)
    }
    let left = take(from: &newest)
    #expect(left == nil)
  }

  @Test("A reader that waits gets the next element, which takes no room")
  func reader() {
    var state = SequenceState(.oldest(1))
    let reader = Reader()
    guard case .wait = state.wait(reader) else {
      Issue.record("A reader of an empty buffer is to wait")
      return
    }
    let first = append(1, to: &state).0
    #expect(first == .resumed(ObjectIdentifier(reader)))
    let (second, third) = (append(2, to: &state).0, append(3, to: &state).0)
    #expect(second == .kept)
    #expect(third == .dropped)
    guard case .take = state.wait(reader) else {
      Issue.record("What has come meanwhile is to be taken")
      return
    }
  }

  @Test("The end leaves what has gathered to be read, unless the reader has gone")
  func finish() {
    for isCancelled in [false, true] {
      var state = SequenceState(.unbounded)
      var left = RecordBuffer()
      _ = append(1, to: &state)
      let reader = state.finish(isCancelled: isCancelled, &left)
      #expect(reader == nil)
      let (late, count) = (append(2, to: &state).0, left.count)
      #expect(late == .ignored)
      #expect(count == (isCancelled ? 1 : 0))
      let element = take(from: &state)
      #expect(element == (isCancelled ? nil : 1))
      guard case .end = state.wait(Reader()) else {
        Issue.record("Nobody is to wait after the end")
        return
      }
      left.discardAll()
    }
  }

  @Test("The end goes to the reader that waits")
  func finishWaiting() {
    var state = SequenceState(.unbounded)
    var left = RecordBuffer()
    let waiting = Reader()
    _ = state.wait(waiting)
    let reader = state.finish(isCancelled: false, &left)
    #expect(reader === waiting)
    let late = append(1, to: &state).0
    #expect(late == .ignored)
  }
}
