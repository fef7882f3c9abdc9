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
/// returned. With `ordered: true` it always queues. For an observer without isolation, use
/// `.queue(.main)`.
public struct MainDelivery: Sendable {
  package let delivery: Delivery

  package init(delivery: Delivery) { self.delivery = delivery }

  /// On the main actor.
  public static let main = MainDelivery(delivery: .target(QueueTarget.main))

  /// On the main actor, with a buffer for the observer, or always queuing; see ``Delivery``.
  public static func main(
    buffering: Buffering = .unbounded, ordered isOrdered: Bool = false
  ) -> MainDelivery {
    MainDelivery(
      delivery: .target(QueueTarget.main, buffering: buffering, ordered: isOrdered))
  }
}

extension Delivery {
  /// Not for a delivery that says nothing about isolation.
  @available(
    *, unavailable,
    message:
      "A Delivery says nothing about isolation: use .queue(.main), or a MainDelivery for .main"
  )
  @_disfavoredOverload
  public static var main: Delivery { MainDelivery.main.delivery }
}
