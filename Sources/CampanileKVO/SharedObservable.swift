/// A class whose properties any thread may change, and that is observable by key path.
///
/// ```swift
/// final class Counter: SharedObservable {
///   private let registrar = KVORegistrar()
///   private let state = Mutex(0)
///
///   var count: Int {
///     get { registrar.get(self, \.count, in: state) }
///     set { registrar.set(self, \.count, in: state, to: newValue) }
///   }
/// }
/// ```
///
/// Observers of such a class are `@Sendable`, because they run on the thread that makes the change.
///
/// A class that stays in one isolation, because it is plain or isolated to the main actor, conforms
/// to the standard `Observable` instead. A class conforms to one of the two protocols, by which the
/// compiler chooses the form of `observe`.
///
/// `withObservationTracking` and `Observations` work with the properties of both.
public protocol SharedObservable: AnyObject, Sendable {}
