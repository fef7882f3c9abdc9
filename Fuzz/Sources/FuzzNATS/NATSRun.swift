import FuzzSupport
import NIOCore

/// An input as what a server of NATS sends, in any pieces, and as lines that are nearly right.
struct NATSRun {
  private var choices: Choices

  init(_ choices: Choices) { self.choices = choices }

  mutating func run() {
    let step = 1 + choices.pick(40)
    let bytes = choices.flip() ? choices.bytes : conversation()
    let (whole, reason) = read(bytes, in: max(bytes.count, 1))
    let (split, otherReason) = read(bytes, in: step)
    require(whole == split, "Bytes that are split are read in another way")
    require(reason == otherReason, "\(reason) and \(otherReason)")
    follow(whole)
  }

  /// Lines of the protocol, with lengths and headers of any kind.
  private mutating func conversation() -> [UInt8] {
    var bytes = Array("INFO {\"headers\":true}\r\nPONG\r\n".utf8)
    while !choices.isAtEnd {
      let size = choices.pick(40)
      let payload = (0..<size).map { _ in UInt8(choices.pick(256)) }
      let said = choices.pick(16) == 1 ? choices.pick(256) : size
      switch choices.pick(5) {
      case 0: bytes += Array("MSG a.b 1 \(said)\r\n".utf8) + payload
      case 1: bytes += Array("HMSG a.b 1 c \(choices.pick(size + 2)) \(said)\r\n".utf8) + payload
      case 2: bytes += Array("-ERR 'Permissions Violation for Publish to \"".utf8) + payload
      case 3: bytes += Array("HMSG a 1 \(said + 12) \(said + 12)\r\nNATS/1.0\r\n".utf8) + payload
      default: bytes += Array("PING".utf8)
      }
      bytes += [13, 10]
    }
    return bytes
  }

  private func read(_ bytes: [UInt8], in step: Int) -> (frames: [ServerFrame], reason: String) {
    let processor = NIOSingleStepByteToMessageProcessor(ServerParser())
    var frames: [ServerFrame] = []
    do {
      for start in stride(from: 0, to: bytes.count, by: step) {
        let piece = ByteBuffer(bytes: bytes[start..<min(start + step, bytes.count)])
        try processor.process(buffer: piece) { frame in
          guard case .messages(let messages) = frame else { return frames.append(frame) }
          // How many come together depends on the pieces.
          frames += messages.map { .messages([$0]) }
        }
      }
    } catch {
      // How far a line has come depends on how it is split.
      let text = "\(error)"
      return (frames, text.contains("bytes and more") ? "too long" : text)
    }
    return (frames, "")
  }

  /// A connection takes whatever a server says, and headers are whatever they are.
  private func follow(_ frames: [ServerFrame]) {
    var (state, actions): (ConnectionState, [ConnectionState.Action]) = (ConnectionState(), [])
    for (index, frame) in frames.enumerated() {
      state.received(frame, &actions)
      if index % 3 == 0 { state.pinged(marking: UInt64(index)) }
      if index % 7 == 0 { state.tick(isReading: true, &actions) }
      guard case .messages(let messages) = frame else { continue }
      for message in messages {
        _ = (message.headers.status, message.headers.statusText, message.headers.value(of: "a"))
      }
    }
    let closes = actions.count { if case .close = $0 { true } else { false } }
    require(closes <= 1, "A connection is closed twice")
    _ = state.closed(nil)
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzNATS(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  var run = NATSRun(unsafe Choices(start, count))
  run.run()
  return 0
}
