extension MessageCenter {
  /// A type whose values can be posted through a center.
  ///
  /// ```swift
  /// struct TrackChanged: MessageCenter.Message { var title: String }
  ///
  /// struct LevelChanged: MessageCenter.Message {
  ///   typealias Subject = Player  // what a message of this type can be about
  ///   var level: Float
  /// }
  /// ```
  ///
  /// The type is the name: two types never collide, whatever they are called. A class instance is
  /// delivered by reference. An instance of a subclass that is posted as its superclass reaches the
  /// observers of the superclass.
  public protocol Message: Sendable {
    /// The class whose instances a message can be about. By default, messages are about nothing.
    associatedtype Subject: AnyObject = NoSubject
  }

  /// The subject type of messages without a subject; it has no instances.
  public final class NoSubject: Sendable {
    private init() {}
  }
}
