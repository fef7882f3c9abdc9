/// A source that others can follow and not send to: the read-only face of a ``Broadcaster``.
///
/// ```swift
/// final class Player {
///   private let _finished = Broadcaster<Track>()
///   var finished: some Followable<Track> { _finished }
/// }
/// ```
///
/// ## Behavior
///
/// Observers hear each value once, in the order they registered. The forms with an owner hold the
/// owner weakly, hand it to the observer, keep it alive for the length of the call, and end with
/// it; the forms without return a token that ends the observation when it is released. Every method
/// is safe from any thread and from inside an observer, and no lock is held while an observer runs.
/// Registering takes a lock briefly, allocates two or three objects, and costs the same however
/// many observers there are.
public protocol Followable<Element>: ObservationSource where Options == ObservationOptions {}
