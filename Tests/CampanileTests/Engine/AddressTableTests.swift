import Testing

@testable import Campanile

@Suite("Objects by address")
struct AddressTableTests {
  private func find(_ key: UInt, in table: AddressTable<Tracked>) -> Tracked? {
    unsafe table.object(for: key)?.takeUnretainedValue()
  }

  @Test("Objects are found by their key, also where keys share a place")
  func find() {
    let life = LiveCount()
    let table = AddressTable<Tracked>(capacity: 64)
    let objects = (1...48).map { _ in Tracked(life) }
    for (index, object) in objects.enumerated() {
      #expect(table.insert(UInt(index + 1) * 16, object))
    }
    for (index, object) in objects.enumerated() {
      #expect(find(UInt(index + 1) * 16, in: table) === object)
    }
    for key in UInt(49)..<200 { #expect(find(key * 16, in: table) == nil) }
    #expect(Set(table.objects.map { ObjectIdentifier($0) }).count == 48)
  }

  @Test("A table that is three quarters full takes no other key, and what it holds is still found")
  func full() {
    let life = LiveCount()
    let table = AddressTable<Tracked>(capacity: 8)
    for key in UInt(1)...6 { #expect(table.insert(key * 16, Tracked(life))) }
    #expect(!table.insert(7 * 16, Tracked(life)))
    #expect(life.current == 6)
    #expect(find(7 * 16, in: table) == nil)
    #expect(find(6 * 16, in: table) != nil)
  }

  @Test("K16 A table releases what it holds")
  func release() {
    let life = LiveCount()
    do {
      let table = AddressTable<Tracked>(capacity: 8)
      for key in UInt(1)...5 { _ = table.insert(key * 16, Tracked(life)) }
      #expect(life.current == 5)
    }
    #expect(life.current == 0)
  }

  // Broken by: AddressTable.object(for:), which took the object at an unused place without asking
  // whether the place had become another key's meanwhile.
  @Test(
    "K9 Who looks for a key while others are put in never finds another's object",
    arguments: widths)
  func readers(width: Int) {
    let wrong = LiveCount()
    let isDone = LiveCount()
    let shared = Locked(AddressTable<Tracked>(capacity: 64))
    let object = Tracked(LiveCount())
    let writer = onThread {
      for _ in 0..<2_000 {
        let table = AddressTable<Tracked>(capacity: 64)
        shared.withLock { $0 = table }
        for key in UInt(1)...48 { _ = table.insert(key * 32, object) }
      }
      isDone.increment()
    }
    onThreads(width) { _ in
      while isDone.current == 0 {
        let table = shared.withLock { $0 }
        for key in UInt(0)..<64 where unsafe table.object(for: key * 32 + 16) != nil {
          wrong.increment()
        }
      }
    }
    writer()
    #expect(wrong.current == 0)
  }
}

/// A message type for each type.
private struct Kind<Content>: MessageCenter.Message {}

@Suite("Many message types")
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

  // Broken by: TopicTable.makeList, if the table that it makes leaves out what the old one held.
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
