internal import Campanile

/// A class whose instances create their controller when it is first asked for.
///
/// In a class hierarchy, the methods of each class use a separate controller, so that no class ends
/// observations of another.
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
  /// A controller of this object that does not keep the objects that it observes.
  public var kvoController: KVOController<Self> {
    kvoControllers.controller(of: self, retainsObserved: false)
  }

  /// A controller of this object that keeps the objects that it observes.
  public var kvoControllerRetaining: KVOController<Self> {
    kvoControllers.controller(of: self, retainsObserved: true)
  }
}

/// The controllers of one object, each created when it is first asked for, until the object dies.
///
/// Safe to use from any thread.
public final class KVOControllers: Sendable {
  private struct Key: Hashable {
    let ownerType: ObjectIdentifier
    let retainsObserved: Bool
  }

  /// Protected by the lock.
  // SAFETY: a controller is stored and taken out by code that has access to its owner.
  private let controllers = UncheckedLock<[Key: AnyObject]>([:])

  /// Creates the storage for the controllers of one object.
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
