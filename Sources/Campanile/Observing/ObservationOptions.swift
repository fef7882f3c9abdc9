/// Options of an observation: `.once` for every source, `.initial` and `.distinct` for a state.
///
/// ```swift
/// state.observe(owner: self, on: .main, options: [.initial, .distinct]) { screen, isPlaying in … }
/// ```
@frozen
public struct ObservationOptions<Source: ObservationSource>: Sendable, ExpressibleByArrayLiteral {
  // Of the same layout for every source: a call without options, in another module, then costs
  // nothing at run time.
  @usableFromInline package var settings = SourceOptions()

  /// No option.
  @inlinable
  public init() {}

  /// Combines options.
  public init(arrayLiteral options: Self...) {
    for option in options.map(\.settings) {
      settings.isInitial = settings.isInitial || option.isInitial
      settings.isOnce = settings.isOnce || option.isOnce
      settings.comparison = settings.comparison ?? option.comparison
    }
  }

  init(_ settings: SourceOptions) { self.settings = settings }

  /// Ends the observation with its first call.
  ///
  /// If many threads post at once, one of them delivers, no second call begins, and the observer's
  /// captures are released when the call has returned. Ending in this way does not cancel the task
  /// of an asynchronous observer, but canceling the observation during the call does.
  ///
  /// At a state or a derived source, the bounded buffer of a synchronous observer takes values
  /// during the call, and discards them after it.
  public static var once: Self { Self(SourceOptions(isOnce: true)) }
}

extension ObservationOptions {
  /// Not for this source.
  @available(
    *, unavailable,
    message: """
      Only a state has a value to begin with: CurrentValue, ReadOnlyState; for a key path, pass \
      .initial to changes(of:)
      """
  )
  @_disfavoredOverload
  public static var initial: Self { Self(SourceOptions()) }

  /// Not for this source.
  @available(
    *, unavailable,
    message: "Only changes of a state can be compared, and only if its values are Equatable"
  )
  @_disfavoredOverload
  public static var distinct: Self { Self(SourceOptions()) }
}

/// Options as they reach a source.
@frozen @usableFromInline
package struct SourceOptions: Sendable {
  @usableFromInline package var isInitial = false
  @usableFromInline package var isOnce = false
  /// The `Comparison` of a state's values, if there is one.
  @usableFromInline var comparison: (any AnyObject & Sendable)?

  @inlinable
  package init(
    isInitial: Bool = false, isOnce: Bool = false, comparison: (any AnyObject & Sendable)? = nil
  ) {
    (self.isInitial, self.isOnce, self.comparison) = (isInitial, isOnce, comparison)
  }
}

/// Decides whether a value says the same as the one that was received before, and is left out.
final class Comparison<Value>: Sendable {
  let isSame: @Sendable (Value, Value) -> Bool
  init(_ isSame: @escaping @Sendable (Value, Value) -> Bool) { self.isSame = isSame }
}
