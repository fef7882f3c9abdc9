import Foundation

/// Decodes notifications where they are posted.
final class NotificationCodec: Sendable {
  private let typeID: ObjectIdentifier?
  private let read: @Sendable (Notification) throws -> any Sendable

  init(
    id: ObjectIdentifier?, _ read: @escaping @Sendable (Notification) throws -> any Sendable
  ) {
    typeID = id
    self.read = read
  }

  /// The identity of the codec: the type that decodes itself, or this object.
  ///
  /// Codecs with the same identity decode the same value.
  var id: ObjectIdentifier { typeID ?? ObjectIdentifier(self) }

  func decode(_ notification: Notification) -> Result<any Sendable, any Error> {
    Result { try read(notification) }
  }
}
