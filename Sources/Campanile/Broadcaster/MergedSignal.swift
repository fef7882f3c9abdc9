extension ObservationSource {
  /// The elements of this source and of another one.
  ///
  /// ```swift
  /// let activity = keys.merged(with: clicks)
  /// activity.observe(owner: timer) { timer, _ in timer.restart() }
  /// ```
  ///
  /// Each observer receives the elements of one source in their order; elements that two threads
  /// send at once have no order. Each observer registers with both sources when it begins to
  /// observe, and these observations end with it. So its position among the other observers of the
  /// two sources is that of its registration, but `removeObservers(ownedBy:)` of the two sources
  /// does not find it.
  ///
  /// An error that an observer throws is printed on standard error, because it belongs to no source.
  ///
  /// - Returns: A source that keeps both sources alive. An observation of it ends when both have
  ///   ended.
  public func merged(
    with other: some ObservationSource<Element>, file: StaticString = #fileID, line: UInt = #line
  ) -> Signal<Element> {
    Signal(base: MergedSignal(signal, other.signal, CallSite(file: file, line: line)))
  }
}

/// The elements of two signals; each observer has a broadcaster that both of them feed.
private final class MergedSignal<Element: Sendable>: SignalBase {
  private let sources: [Signal<Element>]
  private let location: CallSite

  init(_ one: Signal<Element>, _ other: Signal<Element>, _ location: CallSite) {
    sources = [one, other]
    self.location = location
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    let elements = Broadcaster<Element>()
    let feeds = TokenBag()
    // The observer keeps what feeds it, and only that keeps the broadcaster, which ends with it.
    let registration = elements.register(request, body.keeping(feeds))
    for source in sources {
      let feed = ObserverBody<Element>(tap: { elements.send($0, trackedBy: $1.tracker) })
      source.register(ObservationRequest(location), feed)
        .store(in: feeds)
    }
    return registration
  }
}
