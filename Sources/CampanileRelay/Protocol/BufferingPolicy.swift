/// How a hub treats messages for a member that reads too slowly.
///
/// The waiting messages are bounded in bytes. The hub counts the dropped messages, and sends the
/// counts to the member.
struct BufferingPolicy: Hashable, Sendable {
  enum Kept: UInt8, Hashable, Sendable {
    /// Drops the oldest messages that wait.
    case newest = 0
    /// Refuses new messages until the others have been read.
    case oldest = 1
  }

  var kept: Kept
  var bytes: Int

  static func newest(bytes: Int) -> Self { Self(kept: .newest, bytes: bytes) }
  static func oldest(bytes: Int) -> Self { Self(kept: .oldest, bytes: bytes) }

  /// Eight megabytes of the newest messages.
  static let standard = newest(bytes: 8 << 20)
}
