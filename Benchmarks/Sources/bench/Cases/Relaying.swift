import Campanile
import CampanileRelay
import Foundation
import Synchronization

/// Messages to another process.
enum Relaying {
  static var cases: [Case] { [carrying, bytes, codable] }

  /// Room for all that is posted before anything is encoded.
  fileprivate static var buffering: RelayBuffering { .newest(bytes: 64 << 20) }

  // MARK: Posting

  /// What a post costs whoever posts.
  private static var carrying: Case {
    Case(
      name: "post of a message that is carried",
      contenders: [
        posting(Contender.ours, isCarried: true), postingAlone, posting("not carried"),
        posting("not carried, one more observer", observers: 2),
      ],
      fixedCount: 1_000)
  }

  private static func posting(
    _ name: String, isCarried: Bool = false, observers: Int = 1
  ) -> Contender {
    Contender(name) {
      let center = MessageCenter()
      let relay = Relay(.loopback(name), buffering: buffering)
      if isCarried { relay.carry(Level.self, in: center, .outward) }
      let sink = Sink()
      let tokens = (0..<observers).map { _ in center.observe(Level.self) { sink.add($0.value) } }
      wait { try await relay.flush() }
      return .timed { count in
        let elapsed = time { for value in 0..<count { center.post(Level(value: value)) } }
        wait { try await relay.flush() }
        withExtendedLifetime(tokens) {}
        return elapsed
      }
    }
  }

  /// The same while the link takes nothing: what the poster pays without another thread's part in it.
  private static var postingAlone: Contender {
    Contender("\(Contender.ours), nothing encoded meanwhile") {
      let stopped = StoppedRelay()
      return .timed { count in
        let stop = stopped.stop()
        let elapsed = time { stopped.post(count) }
        stop.isOver.signal()
        wait { try await stopped.relay.flush() }
        return elapsed
      }
    }
  }

  /// A post that is carried, and nothing of what the relay does with it.
  static var instructionCases: [InstructionCase] {
    [
      InstructionCase(name: "post-1-carried", count: 5_000) { count in
        let stopped = StoppedRelay()
        let stop = stopped.stop()
        stopped.post(count)
        // The program ends before the relay goes on.
        Self.kept.withLock { $0 = (stopped, stop) }
      }
    ]
  }

  private static let kept = Mutex<(StoppedRelay, Stop)?>(nil)

  // MARK: Traveling

  private static var bytes: Case {
    let payload = [UInt8](repeating: 7, count: 128)
    return Case(
      name: "128 bytes to another process",
      contenders: [
        Contender(Contender.ours) {
          let receiver = Receiver()
          return .timed { count in
            receiver.time { relay in for _ in 0..<count { relay.post(raw: payload, to: "x.y") } }
          }
        },
        pipe("bare pipe, a write for each message", payload, 1),
        pipe("bare pipe, a write for each ten", payload, 10),
        pipe("bare pipe, a write for each thousand", payload, 1_000),
      ],
      fixedCount: 20_000)
  }

  private static func pipe(_ name: String, _ payload: [UInt8], _ framesPerWrite: Int) -> Contender {
    Contender(name) {
      guard let pipe = try? BarePipe() else { preconditionFailure("No pipe can be made") }
      return .timed { count in
        time { pipe.transfer(payload, count, framesPerWrite: framesPerWrite) }
      }
    }
  }

  private static var codable: Case {
    var item = Case(
      name: "Codable message to another process",
      contenders: [
        Contender(Contender.ours) {
          let receiver = Receiver()
          let center = MessageCenter()
          receiver.relay.carry(Track.self, in: center, .outward)
          return .timed { count in
            receiver.time { _ in for _ in 0..<count { center.post(Track()) } }
          }
        },
        Contender("the encoder alone") {
          .loop { for _ in 0..<$0 { blackHole(try? Track().relayPayload()) } }
        },
        Contender("the decoder alone") {
          let bytes = (try? Track().relayPayload()) ?? []
          return .loop {
            for _ in 0..<$0 { blackHole(try? Track(relayPayload: bytes, version: 0)) }
          }
        },
      ],
      fixedCount: 10_000)
    item.notes = [
      Case.Note(
        text: "over the encoder alone", numerator: Contender.ours,
        denominator: "the encoder alone")
    ]
    return item
  }
}

/// Bytes of its own, which say nothing: what is measured is the post.
struct Level: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "level"
  let value: Int

  init(value: Int) { self.value = value }
  init(relayPayload: [UInt8], version: Int) throws { value = 0 }
  func relayPayload() throws -> [UInt8] { [] }
}

/// A relay that can be made to wait before it encodes what is posted.
private final class StoppedRelay: Sendable {
  let relay = Relay(.loopback("stopped"), buffering: Relaying.buffering)
  private let center = MessageCenter()
  private let sink = Sink()
  private let token: ObservationToken

  init() {
    relay.carry(Level.self, in: center, .outward)
    relay.carry(Stop.self, in: center, .outward)
    token = center.observe(Level.self) { [sink] in sink.add($0.value) }
    wait { [relay] in try await relay.flush() }
  }

  /// Returns when the relay waits.
  func stop() -> Stop {
    let stop = Stop()
    center.post(stop)
    stop.isReached.wait()
    return stop
  }

  func post(_ count: Int) {
    for value in 0..<count { center.post(Level(value: value)) }
  }
}

/// Holds the relay's queue up while it is encoded.
private struct Stop: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "stop"
  let isReached = DispatchSemaphore(value: 0)
  let isOver = DispatchSemaphore(value: 0)

  init() {}
  init(relayPayload: [UInt8], version: Int) throws {}

  func relayPayload() throws -> [UInt8] {
    isReached.signal()
    isOver.wait()
    return []
  }

  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws {}
}

/// 79 bytes of JSON.
struct Track: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "track"
  var title = "Aria"
  var composer = "Johann Sebastian Bach"
  var seconds = 201
  var isLoud = false
}

/// A bus with another process, which receives.
private final class Receiver: Sendable {
  let relay: Relay
  private let process: Shared<Process>
  private let input = Pipe()
  private let folder = NSTemporaryDirectory() + "/bench\(UInt32.random(in: 0 ... .max))"

  init() {
    relay = Relay(.host("bench", in: folder), name: "sender")
    wait { [relay] in try await relay.flush() }
    let output = Pipe()
    guard let process = try? Receive.start([folder], input: input, output: output) else {
      preconditionFailure("This program cannot be started once more")
    }
    self.process = Shared(process)
    // It says that it listens.
    blackHole(output.fileHandleForReading.availableData)
  }

  deinit {
    relay.cancel()
    try? input.fileHandleForWriting.close()
    process.value.waitUntilExit()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The nanoseconds that `post` takes, and what was posted until it has been delivered.
  func time(_ post: (Relay) -> Void) -> Double {
    let start = now()
    post(relay)
    wait { [relay] in try await relay.request(raw: [], to: "end", within: .seconds(100)) }
    return Double(now() - start)
  }
}

/// Waits for a task.
@discardableResult
private func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) -> Value {
  let result = Awaited<Value>()
  Task {
    do {
      let value = try await body()
      result.value.withLock { $0 = value }
      result.isThere.signal()
    } catch {
      preconditionFailure("The relay failed: \(error)")
    }
  }
  result.isThere.wait()
  return result.value.withLock { $0! }
}

private final class Awaited<Value: Sendable>: Sendable {
  let value = Mutex<Value?>(nil)
  let isThere = DispatchSemaphore(value: 0)
}
