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
/// Observers of such a class are `@Sendable`, since they run on the thread that makes the change.
///
/// A class that stays in one isolation conforms to the standard `Observable` instead. Such a class
/// is plain, or isolated to the main actor. A class conforms to one of the two protocols, and the
/// compiler chooses the form of `observe` from that.
///
/// `withObservationTracking` and `Observations` work with the properties of both.
public protocol SharedObservable: AnyObject, Sendable {}
