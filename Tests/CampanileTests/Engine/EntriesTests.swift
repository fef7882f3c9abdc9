import TestSupport
import Testing

@testable import Campanile

/// What changes a buffer, each time under a lock.
extension Entries.Owner {
  fileprivate func append(id: UInt64, observer: UInt) {
    underLock { entries.append(id, observer, $0) }
  }

  fileprivate func unlink(at index: Int) -> UInt { underLock { entries.unlink(at: index, $0) } }
  fileprivate func truncate() -> Int { underLock { entries.truncate($0) } }

  fileprivate func restoreCount(_ before: Int, upTo upper: UInt64) {
    underLock { entries.restoreCount(before, upTo: upper, $0) }
  }
}

@Suite("The memory of a list", .ownThread)
struct EntriesTests {
  private func makeBuffer(_ ids: [UInt64], capacity: Int = 8) -> Entries.Owner {
    let buffer = Entries(capacity: capacity, created: 0).owner
    for id in ids { buffer.append(id: id, observer: UInt(id) * 16) }
    return buffer
  }

  /// Gives places back as a removal does that finds a post with `upper`.
  private func trim(_ buffer: Entries.Owner, above upper: UInt64) {
    buffer.restoreCount(buffer.truncate(), upTo: upper)
  }

  @Test("K2 All empty places at the end are found, whatever was found and restored before")
  func runs() {
    var generator = SeededGenerator(7)
    for _ in 0..<200 {
      let buffer = makeBuffer([], capacity: 64)
      // Whether each place has an observer.
      var places: [Bool] = []
      var id: UInt64 = 0
      for _ in 0..<200 {
        if places.count < 64 && Bool.random(using: &generator) {
          id += 1
          buffer.append(id: id, observer: 16)
          places.append(true)
        } else if let index = places.indices.randomElement(using: &generator) {
          for index in index..<min(index + 3, places.count) {
            _ = buffer.unlink(at: index)
            places[index] = false
          }
          let before = buffer.truncate()
          let end = (places.lastIndex(of: true) ?? -1) + 1
          #expect(before == places.count)
          #expect(buffer.entries.count == end)
          if before == end { continue }
          let kept = Int.random(in: end...before, using: &generator)
          buffer.restoreCount(before, upTo: kept == 0 ? 0 : buffer.entries.number(at: kept - 1))
          #expect(buffer.entries.count == kept)
          places.removeLast(before - kept)
        }
      }
    }
  }

  @Test("K16 An end gives back some of many empty places, and the ends after it the others")
  func manyPlaces() {
    let buffer = makeBuffer(Array(1...200), capacity: 200)
    for index in 0..<200 { _ = buffer.unlink(at: index) }
    var counts: [Int] = []
    for _ in 0..<5 {
      trim(buffer, above: 0)
      counts.append(buffer.entries.count)
    }
    #expect(counts == [136, 72, 8, 0, 0])
  }

  @Test(
    "K2 A reader sees whole entries while others are appended, taken and trimmed",
    arguments: widths)
  func readers(width: Int) {
    let buffer = Entries(capacity: 64, created: 0).owner
    for id in 1...16 { buffer.append(id: UInt64(id), observer: UInt(id) * 16) }
    let isDone = LiveCount()
    let wrong = LiveCount()
    let meeting = Meeting(of: width + 1)
    let writer = onThread {
      meeting.join()
      var id: UInt64 = 17
      for _ in 0..<2_000 {
        underLock { held in
          for _ in 0..<40 {
            buffer.entries.append(id, UInt(id) * 16, held)
            id += 1
          }
          for index in 16..<56 { _ = buffer.entries.unlink(at: index, held) }
        }
        trim(buffer, above: 16)
      }
      isDone.increment()
    }
    onThreads(width) { _ in
      meeting.join()
      while isDone.current == 0 {
        for index in 0..<min(16, buffer.entries.count) {
          if buffer.entries.address(at: index) != UInt(buffer.entries.number(at: index)) * 16 {
            wrong.increment()
          }
        }
        for id in 1...UInt64(16) where buffer.entries.index(of: id) != Int(id) - 1 {
          wrong.increment()
        }
      }
    }
    writer()
    #expect(wrong.current == 0)
    #expect(buffer.entries.count == 16)
  }

  @Test("K2 Whoever sees that a place is taken sees by whom", arguments: widths)
  func publication(width: Int) {
    let last = 20_000
    for _ in 0..<10 {
      let buffer = Entries(capacity: last, created: 0).owner
      let wrong = LiveCount()
      let readers = (0..<width).map { _ in
        onThread {
          var count = 0
          while count < last {
            count = buffer.entries.count
            if count == 0 { continue }
            let isWhole =
              buffer.entries.number(at: count - 1) == count
              && buffer.entries.address(at: count - 1) == count * 16
            if !isWhole { wrong.increment() }
          }
        }
      }
      underLock { held in
        for id in 1...last {
          buffer.entries.append(UInt64(id), UInt(id) * 16, held)
        }
      }
      for wait in readers { wait() }
      #expect(wrong.current == 0)
    }
  }
}
