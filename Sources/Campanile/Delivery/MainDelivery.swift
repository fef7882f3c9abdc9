/// The main actor, for observers that are isolated to it.
///
/// ```swift
/// center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
///   screen.title = message.title  // main-actor state: the compiler checks it
/// }
/// ```
///
/// Runs inline when the poster is on the main queue or the main actor and no delivery is waiting or
/// running there, so a message that an observer on `.main` posts is delivered after this observer has
/// returned; ``ordered`` always queues. For an observer without isolation, or a delivery to store and
/// inject, see ``Delivery/mainQueue``.
public struct MainDelivery: Sendable {
  package let delivery: Delivery

  /// On the main actor.
  public static let main = MainDelivery(delivery: .mainQueue)

  /// On the main actor, always queued: the observer never runs before the post returns.
  public var ordered: MainDelivery { MainDelivery(delivery: delivery.ordered) }
}

extension Delivery {
  /// Not for a delivery that says nothing about isolation.
  @available(
    *, unavailable,
    message: "A Delivery says nothing about isolation: use .mainQueue, or a MainDelivery for .main"
  )
  @_disfavoredOverload
  public static var main: Delivery { .mainQueue }
}
