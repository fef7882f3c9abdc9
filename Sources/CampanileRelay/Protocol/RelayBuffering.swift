import Campanile

/// How many bytes are stored for a process that does not read, and which messages are dropped.
///
/// The hub stores the messages to a process that does not read, with the policy of that process's
/// own relay. A process stores the messages that it posts until they can be sent. The policy holds
/// for them until the relay begins to encode them, and their strings and arrays are not counted
/// until then; encoded messages are dropped from the oldest on.
///
/// On one host, a process also stores as many bytes of messages that it has sent and received, from
/// which other processes receive the messages that they lack when the hub dies. With a smaller
/// buffer, more can be lost then.
public struct RelayBuffering: Sendable, Hashable {
  enum Policy: UInt8, Sendable, Hashable {
    case newest = 0
    case oldest = 1
  }

  let policy: Policy
  package let byteCount: Int

  /// Keeps the newest messages, up to this many bytes.
  ///
  /// The default is 8 MB.
  ///
  /// - Precondition: At least 65,536 bytes.
  public static func newest(bytes: Int = 8 << 20) -> Self { Self(.newest, checked(bytes)) }

  /// Keeps the oldest messages, up to this many bytes.
  ///
  /// The default is 8 MB.
  ///
  /// - Precondition: At least 65,536 bytes.
  public static func oldest(bytes: Int = 8 << 20) -> Self { Self(.oldest, checked(bytes)) }

  /// Any number of bytes, as another process may ask for.
  init(_ policy: Policy, _ byteCount: Int) { (self.policy, self.byteCount) = (policy, byteCount) }

  private static func checked(_ byteCount: Int) -> Int {
    require(
      byteCount >= 65_536,
      "A relay's buffer was given \(byteCount) bytes; it takes 65,536 at the least")
    return byteCount
  }
}

extension RelayBuffering: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    let policy: UInt8 = try reader.read()
    guard let policy = Policy(rawValue: policy) else {
      throw FrameError("A member asks for the unknown buffering \(policy).")
    }
    self.init(policy, Int(clamping: try reader.integer(UInt64.self)))
  }

  func write(to writer: inout FrameWriter) { writer.write(policy.rawValue, UInt64(byteCount)) }
}
