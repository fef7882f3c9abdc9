import Synchronization
import Testing

@testable import Campanile

/// A map that several threads look into.
private final class Shared: Sendable {
  let map = AddressMap(capacity: 8)
  /// How many numbers have been put in.
  let count = Atomic<UInt>(0)
}

@Suite("Objects by address", .ownThread)
struct AddressTableTests {
  @Test(
    "K9 Who looks for a key while others are put in finds no other object, and those before it",
    arguments: widths)
  func readers(width: Int) {
    let (wrong, missing, isDone) = (LiveCount(), LiveCount(), LiveCount())
    let newest = Locked(Shared())
    let meeting = Meeting(of: width + 1)
    let writer = onThread {
      meeting.join()
      for _ in 0..<Effort.times(100, long: 400) {
        let new = Shared()
        newest.withLock { $0 = new }
        underLock { held in
          for key in UInt(1)...200 {
            new.map.insert(key * 32, key, held)
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
          if shared.map.object(of: key * 32 + 16) != nil { wrong.increment() }
          if key > 0, key <= count, shared.map.object(of: key * 32) != key { missing.increment() }
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
