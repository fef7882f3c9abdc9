internal import Campanile

/// A class whose instances have a controller of their own, made when it is first asked for.
///
/// In a hierarchy there is one for each class that asks, so that none ends what another observes: the
/// methods of a superclass and those of its subclass have two.
///
/// ```swift
/// @MainActor final class Screen: KVOControllerOwner {
///   nonisolated let kvoControllers = KVOControllers()
///
///   func show(_ player: Player) {
///     kvoController.observe(player, \.title) { screen, player, change in … }
///   }
/// }
/// ```
public protocol KVOControllerOwner: AnyObject {
  /// Keeps the controllers: store `KVOControllers()` in a `let`.
  nonisolated var kvoControllers: KVOControllers { get }
}

extension KVOControllerOwner {
  /// The controller of this object; what it observes is not kept.
  public var kvoController: KVOController<Self> {
    kvoControllers.controller(of: self, retainsObserved: false)
  }

  /// Another controller of this object, which keeps what it observes.
  public var kvoControllerRetaining: KVOController<Self> {
    kvoControllers.controller(of: self, retainsObserved: true)
  }
}

/// The controllers of one object.
///
/// They are made when they are asked for, and end with it. Safe from any thread.
public final class KVOControllers: Sendable {
  private struct Key: Hashable {
    let ownerType: ObjectIdentifier
    let retainsObserved: Bool
  }

  /// Protected by the lock.
  // SAFETY: a controller is taken out by code that has its owner, as it was put in.
  private let controllers = UncheckedLock<[Key: AnyObject]>([:])

  /// Creates the place where an object keeps its controllers.
  public init() {}

  fileprivate func controller<Owner: AnyObject>(
    of owner: Owner, retainsObserved: Bool
  ) -> KVOController<Owner> {
    let key = Key(ownerType: ObjectIdentifier(Owner.self), retainsObserved: retainsObserved)
    if let known = controllers.withLock({ $0[key] }) as? KVOController<Owner> { return known }
    let made = KVOController(owner: owner, retainsObserved: retainsObserved)
    return controllers.withLock { controllers in
      if let known = controllers[key] as? KVOController<Owner> { return known }
      controllers[key] = made
      return made
    }
  }
}
