import Campanile
import CampanileTesting
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

@Suite("Channels over sockets", .ownThread, .timeLimit(.long))
struct SocketChannelTests {
  private final class Listener: Sendable {
    let path = "/tmp/k\(UInt32.random(in: 0 ... .max)).socket"
    private let socket: UnixSocket

    init() throws { socket = try UnixSocket.listening(at: path) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A channel to the next one who connects.
    func channel(
      on queue: DispatchQueue, _ handle: @escaping @Sendable (ChannelEvent) -> Void
    ) throws -> SocketChannel {
      guard let accepted = try socket.accepted() else { throw CocoaError(.fileReadUnknown) }
      return SocketChannel(accepted, on: queue, handle)
    }
  }

  private func connect(to path: String) throws -> UnixSocket {
    guard let socket = try UnixSocket.connecting(to: path) else {
      throw CocoaError(.fileReadUnknown)
    }
    return socket
  }

  @Test("What is sent before the other end closes arrives, and then the end", arguments: [1, 4])
  func lastBytes(queues: Int) async throws {
    let listener = try Listener()
    let ended = Recorder<Int>(timeout: lostAfter)
    // So many at a time that Dispatch's own thread is behind.
    for round in 0..<Effort.times(4, long: 20) {
      var channels: [SocketChannel] = []
      for index in 0..<50 {
        let other = try connect(to: listener.path)
        let count = Locked(0)
        let queue = DispatchQueue(label: "channel \(index % queues)")
        channels.append(
          try listener.channel(on: queue) { event in
            switch event {
            case .read(let bytes): count.withLock { $0 += bytes.count }
            case .readEnd, .written: break
            case .closed: ended.record(count.withLock { $0 })
            }
          })
        #expect(other.write([1, 2, 3][...]) == .bytes(3))
      }
      for number in 0..<50 {
        #expect(try await ended.next() == 3, "round \(round), channel \(number)")
      }
      for channel in channels { channel.close() }
    }
  }

  @Test("Who does not read notices by writing that the other end has gone, and once")
  func endWithoutReading() async throws {
    let listener = try Listener()
    let events = Recorder<String>(timeout: lostAfter)
    let queue = DispatchQueue(label: "channel")
    let kept = Locked<SocketChannel?>(nil)
    let channel: SocketChannel
    do {
      let other = try connect(to: listener.path)
      channel = try listener.channel(on: queue) { event in
        guard case .closed = event else { return }
        events.record("closed")
        kept.withLock { $0 }?.close()
      }
      kept.withLock { $0 = channel }
      channel.setReading(false)
      #expect(other.write([1, 2, 3][...]) == .bytes(3))
    }
    queue.sync {
      for _ in 0..<3 {
        channel.send([4])
        #expect(channel.flush() == 0)
      }
    }
    #expect(try await events.next() == "closed")
    queue.sync {}
    #expect(events.values == ["closed"])
    kept.withLock { $0 = nil }
  }
}
