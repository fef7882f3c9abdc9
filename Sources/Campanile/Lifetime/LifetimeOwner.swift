/// An object whose end is noticed immediately.
///
/// Registrations keep neither owners nor subjects alive. The library releases what an observer
/// captured once it notices that the owner or the subject has ended. With a lifetime it notices at
/// the deinit, on every platform:
///
/// ```swift
/// final class Screen: LifetimeOwner {
///   let lifetime = Lifetime()
/// }
/// ```
public protocol LifetimeOwner: AnyObject, Sendable {
  /// Ends with the object: store `Lifetime()` in a `let`.
  nonisolated var lifetime: Lifetime { get }
}
