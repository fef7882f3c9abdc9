/// The read-only view of a source, which can only be observed.
///
/// Expose a signal to code that may observe, but must not send:
///
/// ```swift
/// final class Player {
///   private let finishes = Broadcaster<Track>()
///   var finished: Signal<Track> { finishes.signal }
/// }
/// ```
///
/// A signal is a value, which you can store in a property or an array, or send to another thread.
/// It keeps its source alive. Its observations do not, unless their documentation says so: they end
/// with the source.
public struct Signal<Element: Sendable>: ObservationSource {
  private enum Base: Sendable {
    case source(any SignalBase<Element>)
    /// Of no generic class, which the runtime would look up at each observation.
    case messages(SourceMessages)
  }

  private let base: Base

  package init(base: any SignalBase<Element>) { self.base = .source(base) }

  /// The signal of messages, which are of the type `Element`.
  @inline(__always)
  init(_ messages: SourceMessages) { base = .messages(messages) }

  /// The signal of `source`.
  public init(_ source: some ObservationSource<Element>) { self = source.signal }

  /// The signal itself.
  public var signal: Signal<Element> { self }

  /// Registers an observer.
  ///
  /// - Returns: A registration that has ended, if the source has finished.
  // Part of its callers: a call would need the metadata of the signal.
  @inline(__always)
  package consuming func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    // Moved, and not copied.
    switch (consume self).base {
    case .source(let source): source.register(request, body)
    case .messages(let messages): messages.register(request, body)
    }
  }

  /// Registers a reader that `buffer` is filled for.
  func makeReader(
    _ buffer: SequenceBuffer, _ request: consuming ObservationRequest
  ) -> ValueSequence<Element>.Reader {
    if case .source(let source) = base, let source = source as? any StateReading<Element> {
      return source.makeReader(buffer, request)
    }
    let body = ObserverBody<Element>(filling: buffer) { buffer.append($0) }
    return .init(buffer, register(request, body))
  }
}

/// The base of a signal: it registers observers.
package protocol SignalBase<Element>: AnyObject, Sendable {
  associatedtype Element: Sendable

  /// Registers an observer.
  ///
  /// - Returns: A registration that has ended, if the source has finished.
  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration
}

/// A source of the values or the changes of a state, whose sequences make their elements when read.
///
/// A reader does not know an update that a full buffer dropped, so updates wait in the buffer, and the
/// reader makes elements of them.
protocol StateReading<Element>: SignalBase {
  func makeReader(
    _ buffer: SequenceBuffer, _ request: consuming ObservationRequest
  ) -> ValueSequence<Element>.Reader
}
