import TestSupport
import Testing

@testable import Campanile

/// What changes a buffer, each time under a lock.
extension Entries.Owner {
  fileprivate func append(id: UInt64, observer: UInt) {
    underLock { entries.append(id, observer, $0) }
  }

  fileprivate func take(at index: Int) -> UInt { underLock { entries.take(at: index, $0) } }
  fileprivate func withdraw() -> Int { underLock { entries.withdraw($0) } }

  fileprivate func restore(_ before: Int, upTo upper: UInt64) {
    underLock { entries.restore(before, upTo: upper, $0) }
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
    buffer.restore(buffer.withdraw(), upTo: upper)
  }

  @Test("K5 Entries keep the order and the places in which they were appended")
  func append() {
    let buffer = makeBuffer([2, 3, 7, 8])
    #expect(buffer.entries.count == 4)
    #expect((0..<4).map { buffer.entries.number(at: $0) } == [2, 3, 7, 8])
    #expect((0..<4).map { buffer.entries.address(at: $0) } == [32, 48, 112, 128])
    buffer.entries.checkInvariants()
  }

  @Test("K1 Only the identifier itself is found, at the ends, in the middle and in between")
  func find() {
    for count in 0...9 {
      let ids = (0..<UInt64(count)).map { $0 * 3 + 2 }
      let buffer = makeBuffer(ids, capacity: 9)
      for id in 0..<UInt64(count * 3 + 4) {
        #expect(buffer.entries.index(of: id) == ids.firstIndex(of: id), "\(id) among \(count)")
      }
    }
  }

  @Test("K3 An entry is taken once and not found again")
  func take() {
    let buffer = makeBuffer([2, 3, 7])
    #expect(buffer.take(at: 1) == 48)
    #expect(buffer.take(at: 1) == 0)
    #expect(buffer.entries.index(of: 3) == nil)
    #expect(buffer.entries.index(of: 2) == 0)
    #expect(buffer.entries.index(of: 7) == 2)
    #expect(buffer.entries.count == 3)
  }

  @Test("K2 Only empty places at the end that no post may touch are given back")
  func trim() {
    let buffer = makeBuffer([2, 3, 7, 9, 11])
    trim(buffer, above: 0)
    #expect(buffer.entries.count == 5)
    for index in [1, 3, 4] { _ = buffer.take(at: index) }
    trim(buffer, above: .max)
    #expect(buffer.entries.count == 5)
    trim(buffer, above: 11)
    #expect(buffer.entries.count == 5)
    trim(buffer, above: 9)
    #expect(buffer.entries.count == 4)
    trim(buffer, above: 0)
    #expect(buffer.entries.count == 3)
    _ = buffer.take(at: 2)
    _ = buffer.take(at: 0)
    trim(buffer, above: 0)
    #expect(buffer.entries.count == 0)
  }

  @Test("K2 Empty places at the end are out of sight while the reservations are read")
  func withdraw() {
    let buffer = makeBuffer([2, 3, 7, 9])
    #expect(buffer.withdraw() == 4)
    #expect(buffer.entries.count == 4)
    for index in [0, 2, 3] { _ = buffer.take(at: index) }
    #expect(buffer.withdraw() == 4)
    #expect(buffer.entries.count == 2)
    buffer.restore(4, upTo: 7)
    #expect(buffer.entries.count == 3)
    #expect(buffer.entries.index(of: 3) == 1)
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
            _ = buffer.take(at: index)
            places[index] = false
          }
          let before = buffer.withdraw()
          let end = (places.lastIndex(of: true) ?? -1) + 1
          #expect(before == places.count)
          #expect(buffer.entries.count == end)
          if before == end { continue }
          let kept = Int.random(in: end...before, using: &generator)
          buffer.restore(before, upTo: kept == 0 ? 0 : buffer.entries.number(at: kept - 1))
          #expect(buffer.entries.count == kept)
          places.removeLast(before - kept)
        }
      }
    }
  }

  @Test("K1 A place that was given back takes a younger entry")
  func reuse() {
    let buffer = makeBuffer([2, 3], capacity: 2)
    _ = buffer.take(at: 1)
    trim(buffer, above: 2)
    buffer.append(id: 4, observer: 64)
    #expect(buffer.entries.index(of: 3) == nil)
    #expect(buffer.entries.index(of: 4) == 1)
    #expect(buffer.entries.address(at: 1) == 64)
    buffer.entries.checkInvariants()
  }

  @Test("The first entry of a list is in the list itself, and the second moves both elsewhere")
  func inline() throws {
    let registry = ObserverRegistry()
    let list = ObserverList(registry: registry, valueType: Int.self)
    func register() throws -> UInt64 {
      let traits = ObserverTraits(location: CallSite(file: #fileID, line: #line))
      let observer = AnyObserver.direct(traits) { (_: Int) in }
      return try #require(registry.add(observer, to: { _, _ in .list(list) })).id
    }
    let first = try register()
    let memory = try #require(list.entries)
    let place = memory.address - UInt(bitPattern: ObjectIdentifier(list))
    #expect(place < 128)
    #expect(memory.capacity == 1)
    #expect(memory.index(of: first) == 0)
    // Its place is used again, as in any memory.
    _ = registry.end(first, in: list, nil)
    let next = try register()
    #expect(list.entries?.address == memory.address)
    let second = try register()
    let moved = try #require(list.entries)
    #expect(moved.address != memory.address)
    #expect([next, second].map { moved.index(of: $0) } == [0, 1])
    // Who still reads the old memory finds what was there.
    #expect(memory.number(at: 0) == next)
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
          for index in 16..<56 { _ = buffer.entries.take(at: index, held) }
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
