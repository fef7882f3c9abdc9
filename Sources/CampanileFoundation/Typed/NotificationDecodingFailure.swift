public import Foundation

/// A notification that could not be decoded for an observer.
public struct NotificationDecodingFailure: Error, Sendable, CustomStringConvertible {
  /// The notification's name.
  public let name: Notification.Name
  /// The type that the notification should have been decoded as.
  public let valueType: any Any.Type
  /// The error that the decoder threw.
  public let error: any Error
  /// The file in which the observer was registered, as `#fileID` names it.
  public let file: String
  /// The line at which the observer was registered.
  public let line: Int

  /// One line with all properties.
  public var description: String {
    "The notification \(name.rawValue) could not be decoded as \(valueType) for the observer at "
      + "\(file):\(line): \(reason)"
  }

  /// The error of the decoder, as the end of a sentence.
  private var reason: String {
    guard let error = error as? NotificationDecodingError else { return "\(error)" }
    return error.message.prefix(1).lowercased() + error.message.dropFirst()
  }

  /// Calls `handler`, or writes a line to standard error.
  func report(to handler: (@Sendable (NotificationDecodingFailure) -> Void)?) {
    if let handler { return handler(self) }
    // If standard error is closed, the failure cannot be reported.
    try? FileHandle.standardError.write(contentsOf: Data((description + "\n").utf8))
  }
}
