/// An object whose end is noticed immediately.
///
/// Registrations keep neither owners nor subjects alive, and the library releases the captures of
/// an observer when it notices that the owner or the subject has ended. With a lifetime it notices
/// that in the deinit, on every platform:
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
