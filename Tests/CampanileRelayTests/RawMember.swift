import Campanile

@testable import CampanileRelay

/// Looks for what must come, again and again.
struct Attempts {
  struct Missing: Error {
    let what: String
  }

  private let end = ContinuousClock.now + lostAfter

  /// Lets others have their turn before it is looked for again.
  func next(_ what: String) async throws {
    if ContinuousClock.now > end { throw Missing(what: what) }
    // What comes from a socket or a process opens no gate of a test. A task that yields and looks again
    // would take a processor from those it waits for.
    try await Task.sleep(for: .milliseconds(1))
  }
}

/// A connection to a hub that a test speaks on, frame by frame.
final class RawMember: Sendable {
  private let socket: UnixSocket
  private let parser = Locked(FrameParser<HubFrame>())

  /// Connects to the hub of a generation, once there is one.
  init(_ folder: BusFolder, generation: UInt64) async throws {
    socket = try await Self.connected(to: folder, generation)
  }

  /// One that has joined the hub of a generation, once there is one.
  static func joined(
    _ folder: BusFolder, generation: UInt64, _ hello: MemberFrame.Hello = .init(1)
  ) async throws -> RawMember {
    let member = try await RawMember(folder, generation: generation)
    member.say(.hello(hello))
    _ = try await member.frames { $0.isOpen }
    return member
  }

  private static func connected(
    to folder: BusFolder, _ generation: UInt64
  ) async throws -> UnixSocket {
    let attempts = Attempts()
    while true {
      if let socket = try UnixSocket.connecting(to: folder.socketPath(generation)) {
        return socket
      }
      try await attempts.next("hub of generation \(generation)")
    }
  }

  func say(_ frames: MemberFrame...) {
    let bytes = Samples.bytes(of: frames)
    // A few bytes fit into the buffer of the socket.
    precondition(socket.write(bytes[...]) == .bytes(bytes.count))
  }

  func close() { socket.shutDown() }

  /// The next frame, or nil if the hub has closed the connection.
  func hear() async throws -> HubFrame? {
    let attempts = Attempts()
    while true {
      if let frame = try parser.withLock({ try $0.next() }) { return frame }
      let (transfer, bytes) = socket.read(atMost: 1 << 16)
      switch transfer {
      case .bytes: parser.withLock { $0.append(bytes) }
      case .none: try await attempts.next("frame")
      case .end: return nil
      }
    }
  }

  /// The frames up to one that a test looks for, or up to the end.
  func frames(upTo isLast: (HubFrame) -> Bool) async throws -> [HubFrame] {
    var frames: [HubFrame] = []
    while let frame = try await hear() {
      frames.append(frame)
      if isLast(frame) { break }
    }
    return frames
  }
}

extension HubFrame {
  var isPing: Bool { if case .ping = self { true } else { false } }
  var isOpen: Bool { if case .open = self { true } else { false } }
  func isMessage(_ number: UInt64) -> Bool {
    if case .message(let message) = self { message.number == number } else { false }
  }
  var isWelcome: Bool { if case .welcome = self { true } else { false } }

  var isJoined: Bool { if case .joined = self { true } else { false } }
  var isLeft: Bool { if case .left = self { true } else { false } }
}
