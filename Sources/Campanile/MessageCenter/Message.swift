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
  /// The type is the name: two types never collide, whatever they are called. Posting a class
  /// instance delivers that instance; posting a subclass's instance as its superclass delivers to
  /// the observers of the superclass.
  public protocol Message: Sendable {
    /// The class whose instances a message can be about; none unless said.
    associatedtype Subject: AnyObject = NoSubject
  }

  /// What a message is about that is about nothing; there is no instance of it.
  public final class NoSubject: Sendable {
    private init() {}
  }
}
