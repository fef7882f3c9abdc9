/// Anything that can be observed.
///
/// A broadcaster is a source, and so are a state, the messages of a type and the notifications of a
/// name. A source can be stored in a property, or as a ``Signal`` in an array, and handed on. All
/// sources are observed in the same ways.
///
/// ```swift
/// ticks.observe(owner: self, on: .main) { screen, tick in screen.count = tick }
/// token = ticks.observe { print($0) }
/// for await tick in ticks.values(buffering: .newest(16)) { print(tick) }
/// ```
///
/// ## Behavior
///
/// Observers receive each element once, in the order in which they registered. The forms with an
/// owner hold the owner weakly and hand it to the observer. They keep it alive for the length of the
/// call, and end with it. The forms without an owner return a token that ends the observation when it
/// is released. Every method is safe from any thread and from inside an observer. No lock is held
/// while an observer runs.
///
/// Registering takes a lock briefly, allocates two or three objects, and costs the same however
/// many observers there are.
///
/// ## A source of your own
///
/// Say which signal it is; every way to observe follows from that:
///
/// ```swift
/// struct Keyboard: ObservationSource {
///   private let keys = Broadcaster<Key>()
///   var signal: Signal<Key> { keys.signal }
/// }
/// ```
public protocol ObservationSource<Element>: Sendable {
  /// What observers are given.
  associatedtype Element: Sendable

  /// The elements of this source, without what else the source can do.
  ///
  /// It is asked for at each call of `observe`, and keeps what it needs of the source.
  var signal: Signal<Element> { get }
}
