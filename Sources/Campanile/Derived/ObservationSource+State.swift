extension ObservationSource {
  /// The last element of this source as a state.
  ///
  /// ```swift
  /// let volume = volumeChanges.state(initially: 5)
  /// volume.observe(owner: self, on: .main, options: .initial) { slider, volume in … }
  /// ```
  ///
  /// The state has `value` until the first element arrives. It takes the elements that are sent after
  /// this call, in the order in which they arrive, so make it before the first element that matters,
  /// and keep it.
  ///
  /// - Returns: A state that observes this source for as long as the state is kept or observed. It does
  ///   not keep the source: when the source ends, the observations of the state end, and the state
  ///   keeps its value. What its observers throw is written to standard error.
  public func state(
    initially value: Element, file: StaticString = #fileID, line: UInt = #line
  ) -> ReadOnlyState<Element> {
    let location = CallSite(file: file, line: line)
    return CurrentValue(value, lastOf: (signal, location)).readOnly
  }
}
