extension ObservationSource {
  /// The elements of this source, each transformed by `transform`.
  ///
  /// - Parameter transform: Called once for each observer and element, where the observer runs. For
  ///   a sequence, it is called where the element is sent. If a `filter` or `compactMap` follows and
  ///   the observer is asynchronous or has a bounded buffer, it is called in both places.
  /// - Returns: A source that keeps this one alive.
  public func map<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) -> Result
  ) -> Signal<Result> {
    transformed { element, _, pass in try pass(transform(element)) }
  }

  /// The elements of this source, transformed by `transform`, without `nil` results.
  ///
  /// - Parameter transform: Called for each observer and element, where the observer runs. For a
  ///   sequence, it is called where the element is sent. For an observer that is asynchronous or has
  ///   a bounded buffer, it is called in both places. An element that it leaves out takes no room in
  ///   the buffer.
  /// - Returns: A source that keeps this one alive. An observer with `.once` is called with the
  ///   first element that is not left out.
  public func compactMap<Result: Sendable>(
    _ transform: @escaping @Sendable (Element) -> Result?
  ) -> Signal<Result> {
    transformed(isSelective: true) { element, _, pass in
      if let result = transform(element) { try pass(result) }
    }
  }

  /// The elements for which `isIncluded` returns true.
  ///
  /// - Parameter isIncluded: Called as often and where the closure of ``compactMap(_:)`` is.
  /// - Returns: A source that keeps this one alive. An observer with `.once` is called with the
  ///   first element that is not left out.
  public func filter(_ isIncluded: @escaping @Sendable (Element) -> Bool) -> Signal<Element> {
    transformed(isSelective: true) { element, _, pass in
      if isIncluded(element) { try pass(element) }
    }
  }

  /// The elements that a closure makes of those of this source.
  ///
  /// Nothing is stored between two elements, so this source's promises about order, ends and
  /// deliveries hold for them.
  ///
  /// - Parameters:
  ///   - isSelective: Whether some elements are left out.
  ///   - receivesSubject: Whether `transform` reads the subjects of the posts.
  func transformed<Result: Sendable>(
    isSelective: Bool = false, receivesSubject: Bool = false,
    _ transform: @escaping ObserverBody<Result>.Transform<Element>
  ) -> Signal<Result> {
    Signal(base: TransformedSignal(signal, isSelective, receivesSubject, transform))
  }
}

private final class TransformedSignal<Upstream: Sendable, Element: Sendable>: SignalBase {
  private let upstream: Signal<Upstream>
  private let isSelective: Bool
  private let receivesSubject: Bool
  private let transform: ObserverBody<Element>.Transform<Upstream>

  init(
    _ upstream: Signal<Upstream>, _ isSelective: Bool, _ receivesSubject: Bool,
    _ transform: @escaping ObserverBody<Element>.Transform<Upstream>
  ) {
    (self.upstream, self.transform) = (upstream, transform)
    (self.isSelective, self.receivesSubject) = (isSelective, receivesSubject)
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    let isWanted = body.selection(isSelective: isSelective, by: transform)
    let isOnce = request.takeOptions().isOnce
    return upstream.register(
      request,
      body.mapped(once: isOnce, receivesSubject: receivesSubject, where: isWanted, transform))
  }
}
