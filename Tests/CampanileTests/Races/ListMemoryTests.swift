import Testing

@testable import Campanile

@Suite("How much memory lists keep", .ownThread)
struct ListMemoryTests {
  let source = Broadcaster<Int>()

  private var capacity: Int { source.list.entries?.capacity ?? 0 }

  @Test("K16 A list gives its memory back when most of its registrations have ended")
  func shrinks() {
    var tokens = (0..<10_000).map { _ in source.observe { _ in } }
    // The youngest stays, so that the places before it cannot be trimmed from the end.
    tokens.removeFirst(9_999)
    #expect(source.list.count == 1)
    #expect(capacity <= 8)
    withExtendedLifetime(tokens) {}
  }

  @Test("K2 K16 A place that a post in progress may still read is not used again")
  func placesInUse() {
    let heard = Recorder<String>()
    let tokens = Recorder<ObservationToken>()
    let first = source.observe { [source] value in
      guard value == 1 else { return }
      // This post has read the list with the second observer in it; its place must not go to another.
      tokens.values.last?.cancel()
      tokens.record(source.observe { _ in heard.record("third") })
    }
    tokens.record(source.observe { _ in heard.record("second") })
    source.send(1)
    #expect(heard.values == [])
    source.send(2)
    #expect(heard.values == ["third"])
    withExtendedLifetime(first) {}
    for token in tokens.values { token.cancel() }
  }

  @Test("K8 Dead owners without a lifetime never make up more than a constant factor of the live")
  func deadOwners() {
    for _ in 0..<10_000 {
      source.observe(owner: Player()) { _, _ in }
    }
    #expect(source.list.count <= 64)
    #expect(capacity <= 128)
  }
}
