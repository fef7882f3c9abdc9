/// The elements of a source: what can be observed of it, and nothing else.
///
/// Hand it out where others may listen and not send:
///
/// ```swift
/// final class Player {
///   private let finishes = Broadcaster<Track>()
///   var finished: Signal<Track> { finishes.signal }
/// }
/// ```
///
/// A signal is a value: keep it in a property, in an array, send it to another thread. It keeps its
/// source alive. Its observations do not, unless their documentation says so, and end with the
/// source.
public struct Signal<Element: Sendable>: ObservationSource {
  package let base: any SignalBase<Element>

  package init(base: any SignalBase<Element>) { self.base = base }

  /// The signal of `source`.
  public init(_ source: some ObservationSource<Element>) { self = source.signal }

  /// The signal itself.
  public var signal: Signal<Element> { self }
}

/// What a signal is of: where observers register.
package protocol SignalBase<Element>: AnyObject, Sendable {
  associatedtype Element: Sendable

  /// Registers an observer.
  ///
  /// - Returns: A registration that has ended, if the source has finished.
  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>,
    _ options: SourceOptions<Element>
  ) -> Registration

  /// Finds the same later, if the source is still there; does not keep the source.
  var reference: @Sendable () -> (any SignalBase<Element>)? { get }
}
