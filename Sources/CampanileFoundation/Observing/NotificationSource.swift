public import Campanile
public import Foundation

/// The notifications of a Foundation center, to be observed like any other source.
///
/// ```swift
/// center.notifications(of: .trackChanged).observe(owner: screen, on: .main) {
///   screen, notification in
///   screen.title = notification["title"] ?? ""
/// }
/// for await notification in center.notifications(of: .trackChanged)
///   .values(buffering: .newest(8)) { … }
/// ```
///
/// A source keeps its center, and its observations do not. Neither keeps the object.
public struct NotificationSource: Followable {
  /// What observers are given.
  public typealias Element = PostedNotification
  /// What can be asked of an observation.
  public typealias Options = ObservationOptions

  let center: NotificationCenter
  let name: Notification.Name?
  let object: SubjectReference<AnyObject>

  /// Registers an observer.
  ///
  /// Not for direct use: call `observe`.
  public func _register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    _ options: ObservationOptions
  ) -> Registration? {
    NotificationHub.of(center).register(
      request, body, of: name, about: object.current, once: options.contains(.once))
  }

  /// A registration that has ended.
  ///
  /// Not for direct use.
  public var _ended: Registration { NotificationHub.of(center).topics.ended }
}

extension NotificationCenter {
  /// The notifications of one name, or of any, about `object`, or about whatever.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - object: The instance that the notifications are to be about, compared by identity and not
  ///     kept alive. A variable that is `nil` names an instance that has gone: nothing is heard. To
  ///     hear of every object, leave it out.
  public func notifications<Object: AnyObject>(
    of name: Notification.Name?, object: Object?? = AnyObject??.none
  ) -> NotificationSource {
    NotificationSource(center: self, name: name, object: .erasing(object))
  }
}

extension SubjectReference<AnyObject> {
  /// Names an object of whatever class, one that has gone, or none.
  static func erasing<Object: AnyObject>(_ object: Object??) -> Self {
    switch object {
    case .none: Self(nil)
    case .some(let object): Self(.some(object))
    }
  }
}
