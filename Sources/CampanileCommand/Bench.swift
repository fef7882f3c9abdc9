import Campanile
import CampanileRelay
import Foundation

/// Measures messages and requests from this process to another one.
struct Bench {
  let count: Int
  let size: Int

  private static let batch = 2_000
  private static let requestCount = 2_000
  private let subjects = Subjects(of: getpid())

  /// The subjects of a measurement: another one of the same host has others.
  struct Subjects {
    let message: String
    let question: String

    /// - Parameter process: The process that measures.
    init(of process: pid_t) {
      message = "campanile.bench.\(process).message"
      question = "campanile.bench.\(process).heard"
    }
  }

  /// Measures on the given bus, or on a private one if none is given.
  func run(on bus: BusName) async -> Ending {
    var bus = bus
    let own =
      bus.given.isEmpty ? NSTemporaryDirectory() + "campanile-bench-\(getpid())" : nil
    defer { if let own { try? FileManager.default.removeItem(atPath: own) } }
    if bus.nats == nil {
      bus.given[.bus] = bus.given[.bus] ?? "bench"
      bus.given[.folder] = bus.given[.folder] ?? own
    }
    let session = Session(bus, name: "campanile bench")
    return await session.run { try await measure($0) }
  }

  private func measure(_ session: Session) async throws -> Ending {
    try await session.relay.flush()
    let receiver = try Receiver(session.bus)
    defer { receiver.end() }
    try await receiver.waitUntilReady()
    let (time, heard) = try await post(session.relay)
    let times = try await request(session.relay)
    let rate = Int(Double(count) / (time / .seconds(1)))
    let total = times.reduce(.zero, +)
    let requestRate = Int(Double(times.count) / (total / .seconds(1)))
    let middle = (times.sorted()[times.count / 2] / .microseconds(1)).rounded()
    #if DEBUG
      let build = ", in a debug build"
    #else
      let build = ""
    #endif
    try Output.write("Two processes, \(size) bytes a message\(build):")
    try Output.write("  messages  \(rate) a second, \(count) posted, \(heard) heard")
    try Output.write(
      "  requests  \(requestRate) a second, one after the other, half within \(Int(middle)) µs")
    return heard == count ? .done : .failed("\(count - heard) messages were not heard.")
  }

  /// - Returns: The time until all messages have been received, and the number of received
  ///   messages.
  private func post(_ relay: Relay) async throws -> (Duration, heard: Int) {
    let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: size)
    // At most what the relay's buffer holds.
    let batch = max(1, min(Self.batch, (1 << 20) / (size + 128)))
    let clock = ContinuousClock()
    let start = clock.now
    var flushes: [Task<Void, any Error>] = []
    for first in stride(from: 0, to: count, by: batch) {
      try Task.checkCancellation()
      for _ in first..<min(first + batch, count) { relay.post(raw: bytes, to: subjects.message) }
      flushes.append(Task { try await relay.flush() })
      if flushes.count > 2 { try await flushes.removeFirst().value }
    }
    for flush in flushes { try await flush.value }
    // The receiver gets this request after the messages.
    let answer = try await relay.request(raw: [], to: subjects.question, within: .seconds(30))
    let time = clock.now - start
    return (time, Int(String(decoding: answer, as: UTF8.self)) ?? 0)
  }

  private func request(_ relay: Relay) async throws -> [Duration] {
    var times: [Duration] = []
    for _ in 0..<Self.requestCount {
      let start = ContinuousClock.now
      _ = try await relay.request(raw: [], to: subjects.question, within: .seconds(30))
      times.append(.now - start)
    }
    return times
  }
}

/// A second process of this program, which receives the messages.
private struct Receiver {
  private let process = Process()
  // It ends when its input ends, which happens however this process ends.
  private let input = Pipe()
  private let output = Pipe()

  init(_ bus: BusName) throws {
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["bench", "--receiver"] + bus.arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  func waitUntilReady() async throws {
    let (news, source) = AsyncStream<Bool>.makeStream()
    let output = output.fileHandleForReading
    Thread.detachNewThread { source.yield(!output.availableData.isEmpty) }
    for await isReady in news {
      if isReady { return }
      throw Ending.failed("The other process ended too early.")
    }
    throw CancellationError()
  }

  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}

extension Session {
  /// Receives the messages of a measurement, until the input ends.
  func receive() async throws -> Ending {
    let count = Locked(0)
    let subjects = Bench.Subjects(of: getppid())
    keep(relay.raw(subjects.message).observe { _ in count.withLock { $0 += 1 } })
    keep(
      relay.answer(raw: subjects.question) { _, _ in Array("\(count.withLock { $0 })".utf8) })
    try await relay.flush()
    try Output.write("ready")
    Thread.detachNewThread {
      while !FileHandle.standardInput.availableData.isEmpty {}
      self.end(.done)
    }
    return await waitForEnd()
  }
}
