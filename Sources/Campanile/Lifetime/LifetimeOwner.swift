/// An object whose end is noticed at once.
///
/// Registrations keep neither owners nor subjects alive; what they captured is released once the
/// end of either is noticed. With a lifetime that is at its deinit, on every platform:
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
