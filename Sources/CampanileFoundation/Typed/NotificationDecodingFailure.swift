public import Foundation

/// A notification that could not be decoded for an observer.
public struct NotificationDecodingFailure: Error, Sendable, CustomStringConvertible {
  /// The notification's name.
  public let name: Notification.Name
  /// The type that was to be decoded.
  public let valueType: any Any.Type
  /// What the decoder threw.
  public let error: any Error
  /// The file in which the observer was registered, as `#fileID` names it.
  public let file: String
  /// The line at which the observer was registered.
  public let line: Int

  /// One line with all of it.
  public var description: String {
    "The notification \(name.rawValue) is no \(valueType) for the observer at \(file):\(line): "
      + "\(error)"
  }
}
