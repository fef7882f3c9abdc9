/// Anything that can be observed.
///
/// Sources are a broadcaster, a state, the messages of a type, and the notifications of a name. You
/// can store a source in a property, or as a ``Signal`` in an array, and pass it on. All sources
/// are observed in the same ways:
///
/// ```swift
/// ticks.observe(owner: self, on: .main) { screen, tick in screen.count = tick }
/// token = ticks.observe { print($0) }
/// for await tick in ticks.values(buffering: .newest(16)) { print(tick) }
/// ```
///
/// ## Behavior
///
/// Observers receive each element once. Immediate observers are called in the order in which they
/// registered, and so are those on one target. The forms with an owner hold the owner weakly, pass
/// it to the observer, and keep it alive during the call; the observation ends with the owner. The
/// forms without an owner return a token that ends the observation when it is released. Every
/// method is safe from any thread and from inside an observer, because no lock is held while an
/// observer runs.
///
/// Registering takes a lock briefly and allocates three objects without an owner, and about five
/// with one. The cost does not depend on the number of observers.
///
/// ## A source of your own
///
/// Provide a signal; every way to observe is built on it:
///
/// ```swift
/// struct Keyboard: ObservationSource {
///   private let keys = Broadcaster<Key>()
///   var signal: Signal<Key> { keys.signal }
/// }
/// ```
public protocol ObservationSource<Element>: Sendable {
  /// The values that observers receive.
  associatedtype Element: Sendable

  /// The elements of this source as a signal, which can only be observed.
  ///
  /// Each call of `observe` reads this property. The signal retains the parts of the source that it
  /// needs.
  var signal: Signal<Element> { get }
}
