import Campanile
import CampanileNATS
import CampanileRelay
import CLibnats
import Dispatch
import Foundation
import Synchronization

/// One server of NATS, and what is measured at it, in nanoseconds.
struct Speed: Sendable {
  let url: String
  let count: Int
  let payload = [UInt8](repeating: 7, count: 128)

  private static let rounds = 5
  private static let room = RelayBuffering.newest(bytes: 1 << 30)

  /// Prints the rates of both, and the median ratio of the rounds.
  func compare(
    _ what: String, _ first: () async throws -> Int64, _ second: () async throws -> Int64
  ) async throws {
    var pairs: [(Double, Double)] = []
    for round in 0...Self.rounds {
      let pair = (rate(try await first()), rate(try await second()))
      // The first round warms up.
      if round > 0 { pairs.append(pair) }
    }
    let columns = [
      median(pairs.map(\.0)), median(pairs.map(\.1)), median(pairs.map { $0.0 / $0.1 }),
    ]
    let texts = zip(columns, ["%.0f", "%.0f", "%.2f"]).map { String(format: $1, $0) }
    print("| \(what) | \(texts.joined(separator: " | ")) |")
  }

  private func rate(_ nanoseconds: Int64) -> Double {
    precondition(nanoseconds > 0, "The server at \(url) can't be used")
    return Double(count) / Double(nanoseconds) * 1_000_000
  }

  private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private func time(_ body: () async throws -> Void) async throws -> Int64 {
    let start = DispatchTime.now().uptimeNanoseconds
    try await body()
    return Int64(DispatchTime.now().uptimeNanoseconds - start)
  }

  // MARK: Publishing

  func publish() async throws -> Int64 {
    try await post(on: Relay(.nats(url), buffering: Self.room), to: "speed")
  }

  /// In a stream that the first relay creates.
  func store() async throws -> Int64 {
    let transport = Relay.Transport.nats(url, .durable("SPEED", creating: ["stored"]))
    return try await post(on: Relay(transport, buffering: Self.room), to: "stored")
  }

  func publishByLibnats() -> Int64 { unsafe libnats_publish(url, count, Int32(payload.count), 0) }
  func publishWithHeader() -> Int64 { unsafe libnats_publish(url, count, Int32(payload.count), 1) }
  func storeByLibnats() -> Int64 { unsafe libnats_store(url, count, Int32(payload.count), 0) }
  func storeWithIDs() -> Int64 { unsafe libnats_store(url, count, Int32(payload.count), 1) }
  func sendPrepared() -> Int64 { unsafe prepared_publish(url, count, Int32(payload.count), 0) }
  func sendWithHeader() -> Int64 { unsafe prepared_publish(url, count, Int32(payload.count), 1) }
  func receiveByLibnats() -> Int64 { unsafe libnats_receive(url, count, Int32(payload.count)) }

  private func post(on relay: Relay, to subject: String) async throws -> Int64 {
    try await relay.flush()
    let elapsed = try await time {
      for _ in 0..<count { relay.post(raw: payload, to: subject) }
      try await relay.flush()
    }
    await relay.drain()
    return elapsed
  }

  // MARK: Receiving

  /// From the first message to the last; libnats publishes them, on a thread of its own.
  func receive() async throws -> Int64 {
    let relay = Relay(.nats(url))
    let arrivals = Arrivals(count)
    let token = relay.raw("speed").observe { _ in arrivals.arrive() }
    try await relay.flush()
    Thread.detachNewThread { [url, count, payload] in
      _ = unsafe libnats_publish(url, count, Int32(payload.count), 0)
    }
    let elapsed = await arrivals.elapsed()
    withExtendedLifetime(token) {}
    await relay.drain()
    return elapsed
  }
}

/// The time from the first arrival to the last.
private final class Arrivals: Sendable {
  private let count: Int
  // Without a lock, as libnats counts.
  private let seen = Atomic(0)
  private let start = Atomic<UInt64>(0)
  private let (elapsedTimes, elapsedTime) = AsyncStream<Int64>.makeStream()

  init(_ count: Int) { self.count = count }

  func arrive() {
    let number = seen.add(1, ordering: .relaxed).newValue
    if number == 1 { start.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed) }
    if number == count {
      let now = DispatchTime.now().uptimeNanoseconds
      elapsedTime.yield(Int64(now - start.load(ordering: .relaxed)))
    }
  }

  func elapsed() async -> Int64 { await elapsedTimes.first { _ in true } ?? 0 }
}
