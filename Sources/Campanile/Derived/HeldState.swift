extension ObservationSource {
  /// The last element of this source as a state.
  ///
  /// ```swift
  /// let volume = volumeChanges.state(initially: 5)
  /// volume.observe(owner: self, on: .main, options: .initial) { slider, volume in … }
  /// ```
  ///
  /// It takes the elements that are sent after this call, in the order in which they arrive, so make
  /// it before the first element that matters, and keep it.
  ///
  /// - Parameters:
  ///   - value: The value until the first element arrives.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  /// - Returns: A state that observes this source for as long as the state is kept or observed. It does
  ///   not keep the source: when the source ends, the observations of the state end, and the state
  ///   keeps its value. What its observers throw is written to standard error.
  public func state(
    initially value: Element, file: StaticString = #fileID, line: UInt = #line
  ) -> ReadOnlyState<Element> {
    ReadOnlyState(base: HeldState(signal, value, CallSite(file: file, line: line)))
  }
}

/// The last element of a signal.
final class HeldState<Value: Sendable>: StateBase {
  private let held: CurrentValue<Value>
  private let token: ObservationToken

  /// - Parameter upstream: The sources that report the failures of the state's observers.
  init(
    _ signal: Signal<Value>, _ value: Value, _ location: CallSite,
    upstream: [ObserverRegistry] = []
  ) {
    let held = CurrentValue(value, registry: ObserverRegistry(upstream: upstream))
    let body = ObserverBody<Value>(tap: { held.set($0, as: $1) }, onEnd: { held.finish() })
    self.held = held
    token = ObservationToken(
      signal.register(ObservationRequest(location), body, SourceOptions()))
  }

  var value: Value { held.value }
  var registries: [ObserverRegistry] { held.registries }

  func tap(_ taps: Taps) -> @Sendable () -> Value {
    let read = held.tap(taps)
    return { [self] in withExtendedLifetime(self) { read() } }
  }

  func follow(
    _ request: consuming ObservationRequest, _ following: Following<Value>,
    _ body: consuming ObserverBody<StateUpdate<Value>>
  ) -> Registration {
    held.follow(request, following, body.keeping(self))
  }
}
