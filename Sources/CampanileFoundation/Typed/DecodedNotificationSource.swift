public import Campanile
import Foundation

/// The notifications of one name as values, to be observed like any other source.
public struct DecodedNotificationSource<Element: Sendable>: Followable {
  /// What can be asked of an observation.
  public typealias Options = ObservationOptions

  let source: NotificationSource
  let descriptor: NotificationDescriptor<Element>
  let onFailure: (@Sendable (NotificationDecodingFailure) -> Void)?

  /// Registers an observer.
  ///
  /// Not for direct use: call `observe`.
  public func _register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Element>,
    _ options: ObservationOptions
  ) -> Registration? {
    let hub = NotificationHub.of(source.center)
    let name = descriptor.name
    let place = request.place
    // The observer keeps the codec; when the last one has gone, nothing is decoded any more.
    let codec = hub.share(descriptor.codec, of: name)
    let onFailure = onFailure
    let mapped = body.mapped(once: options.contains(.once)) {
      (notification: PostedNotification) -> Element? in
      switch notification.decoded(for: codec.id) {
      case .success(let value):
        // The codec is known by the type or the object that decodes as an Element.
        return value as? Element
      case .failure(let error):
        let failure = NotificationDecodingFailure(
          name: name, valueType: Element.self, error: error, file: place.file, line: place.line)
        guard let onFailure else { throw failure }
        onFailure(failure)
        return nil
      case nil:
        // The post began before this observer was registered.
        return nil
      }
    }
    return hub.register(request, mapped, of: name, about: source.object.current, once: false)
  }

  /// A registration that has ended.
  ///
  /// Not for direct use.
  public var _ended: Registration { source._ended }
}
