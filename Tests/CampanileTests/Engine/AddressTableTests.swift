import Synchronization
import Testing

@testable import Campanile

/// A map that several threads look into.
private final class Shared: Sendable {
  let map = AddressMap<Tracked>(capacity: 8)
  /// How many objects have been put in.
  let count = Atomic<UInt>(0)
}

@Suite("Objects by address", .ownThread)
struct AddressTableTests {
  private func find(_ key: UInt, in map: borrowing AddressMap<Tracked>) -> Tracked? {
    unsafe map.object(for: key)?.takeUnretainedValue()
  }

  @Test("Objects are found by their key, however many come, also where keys share a place")
  func find() {
    let life = LiveCount()
    let map = AddressMap<Tracked>(capacity: 8)
    let objects = (1...500).map { _ in Tracked(life) }
    for (index, object) in objects.enumerated() {
      underLock { map.insert(UInt(index + 1) * 16, object, $0) }
      #expect(find(UInt(index + 2) * 16, in: map) == nil)
    }
    for (index, object) in objects.enumerated() {
      #expect(find(UInt(index + 1) * 16, in: map) === object)
    }
    for key in UInt(501)..<700 { #expect(find(key * 16, in: map) == nil) }
    #expect(underLock { Set(map.objects($0).map { ObjectIdentifier($0) }).count } == 500)
  }

  @Test("K16 A map releases what it holds", arguments: [5, 500])
  func release(count: Int) {
    let life = LiveCount()
    do {
      let map = AddressMap<Tracked>(capacity: 8)
      for key in 1...count { underLock { map.insert(UInt(key) * 16, Tracked(life), $0) } }
      #expect(life.current == count)
    }
    #expect(life.current == 0)
  }

  @Test(
    "K9 Who looks for a key while others are put in finds no other object, and those before it",
    arguments: widths)
  func readers(width: Int) {
    let (wrong, missing, isDone) = (LiveCount(), LiveCount(), LiveCount())
    let newest = Locked(Shared())
    let object = Tracked(LiveCount())
    let meeting = Meeting(of: width + 1)
    let writer = onThread {
      meeting.join()
      for _ in 0..<Effort.times(100, long: 400) {
        let new = Shared()
        newest.withLock { $0 = new }
        underLock { held in
          for key in UInt(1)...200 {
            new.map.insert(key * 32, object, held)
            new.count.store(key, ordering: .releasing)
          }
        }
      }
      isDone.increment()
    }
    onThreads(width) { _ in
      meeting.join()
      while isDone.current == 0 {
        let shared = newest.withLock { $0 }
        let count = shared.count.load(ordering: .acquiring)
        for key in UInt(0)..<256 {
          if unsafe shared.map.object(for: key * 32 + 16) != nil { wrong.increment() }
          if key > 0, key <= count, unsafe shared.map.object(for: key * 32) == nil {
            missing.increment()
          }
        }
      }
    }
    writer()
    #expect(wrong.current == 0)
    #expect(missing.current == 0)
  }
}

/// A message type for each type.
private struct Kind<Content>: MessageCenter.Message {}

@Suite("Many message types", .ownThread)
struct ManyTypesTests {
  let center = MessageCenter()
  let heard = Recorder<Int>()

  /// Does something with `count` types, each an array of the one before.
  private func forEachType<Content>(
    _ count: Int, from type: Content.Type, _ body: (Int, any MessageCenter.Message.Type) -> Void
  ) {
    if count == 0 { return }
    body(count, Kind<Content>.self)
    forEachType(count - 1, from: [Content].self, body)
  }

  private func observe<M: MessageCenter.Message>(_ type: M.Type, _ number: Int) -> ObservationToken
  {
    center.observe(type) { [heard] _ in heard.record(number) }
  }

  @Test("K1 Observers of many types hear their own, whatever came to the table after them")
  func manyTypes() {
    var tokens: [ObservationToken] = []
    forEachType(40, from: Int.self) { number, type in tokens.append(observe(type, number)) }
    func post<Content>(_ kind: Kind<Content>.Type, _ count: Int) {
      if count == 0 { return }
      center.post(kind.init())
      post(Kind<[Content]>.self, count - 1)
    }
    post(Kind<Int>.self, 40)
    #expect(heard.values == (1...40).reversed())
    #expect(center.observerCount == 40)
    tokens = []
    #expect(center.observerCount == 0)
  }
}
