import Testing

@testable import Campanile

@Suite("What is part of an asynchronous call", .ownThread)
struct AsyncCallTests {
  private let center = MessageCenter()
  private let heard = Inbox<Int>()

  @Test(
    "K4 A task that outlives the call it was made in is not inside the observer")
  func outlives() async throws {
    let (gate, waits) = (AsyncGate(), Inbox<Registration.Wait>())
    let other = center.observe(Tock.self) { _ in }
    let token = center.messages(of: Tick.self).observeAsync { _ in
      Task {
        await gate.pass()
        waits.record(await other.cancelAndWait())
      }
    }
    try await center.postAndWait(Tick(number: 1))
    gate.open()
    #expect(await waits.values(count: 1) == [.finished])
    withExtendedLifetime(token) {}
  }

  @Test(
    "K4 A task that outlives a call that another one waited for is not inside the observer")
  func outlivesWithWaiter() async throws {
    let (gate, hold) = (AsyncGate(), AsyncGate())
    let waits = Inbox<Registration.Wait>()
    struct Knell: MessageCenter.Message {}
    let other = center.observe(Knell.self) { _ in }
    let outer = center.messages(of: Tick.self).observeAsync { [center] _ in
      try await center.postAndWait(Tock())
      gate.open()
      await hold.pass()
    }
    let inner = center.messages(of: Tock.self).observeAsync { _ in
      Task {
        await gate.pass()
        waits.record(await other.cancelAndWait())
        hold.open()
      }
    }
    try await center.postAndWait(Tick(number: 1))
    #expect(await waits.values(count: 1) == [.finished])
    withExtendedLifetime((outer, inner)) {}
  }

  @Test(
    "K10 A task that outlives the call it was made in waits for that observer too")
  func waitsForObserver() async throws {
    let (gate, found) = (AsyncGate(), Inbox<[Int]>())
    let token = center.messages(of: Tick.self).observeAsync {
      [center, heard] tick in
      if tick.number == 1 {
        Task {
          await gate.pass()
          try await center.postAndWait(Tick(number: 2))
          found.record(heard.values)
        }
      } else {
        for _ in 0..<1_000 { await Task.yield() }
      }
      heard.record(tick.number)
    }
    try await center.postAndWait(Tick(number: 1))
    gate.open()
    #expect(await found.values(count: 1) == [[1, 2]])
    withExtendedLifetime(token) {}
  }

  @Test(
    "K10 Asynchronous observers that post to each other and wait do not wait forever",
    arguments: [1, 2, 8])
  func mutualWaits(width: Int) async throws {
    let (rings, done) = ((0..<width).map { _ in Broadcaster<Int>() }, Inbox<Int>())
    // Each passes the value on, and the last one back to the first, which waits all the while.
    let tokens = rings.indices.map { index in
      rings[index].observeAsync { number in
        if number < width { try await rings[(index + 1) % width].sendAndWait(number + 1) }
        done.record(number)
      }
    }
    rings[0].send(0)
    #expect(try await done.next(width + 1, within: patience).sorted() == Array(0...width))
    withExtendedLifetime(tokens) {}
  }
}
