/// Options of an observation: `.once` for every source, `.initial` and `.distinct` for a state.
///
/// ```swift
/// state.observe(owner: self, on: .main, options: [.initial, .distinct]) { screen, change in … }
/// ```
@frozen
public struct ObservationOptions<Source: ObservationSource>: Sendable, ExpressibleByArrayLiteral {
  // Of the same layout for every source: a call without options, in another module, then costs
  // nothing at run time.
  @usableFromInline var isInitial = false
  @usableFromInline var isOnce = false
  @usableFromInline var isWithoutOld = false
  /// The `Repetition` of the source's elements, if there is one.
  @usableFromInline var repetition: (any AnyObject & Sendable)?

  /// No option.
  @inlinable
  public init() {}

  /// Combines options.
  public init(arrayLiteral options: Self...) {
    for option in options {
      isInitial = isInitial || option.isInitial
      isOnce = isOnce || option.isOnce
      isWithoutOld = isWithoutOld || option.isWithoutOld
      repetition = repetition ?? option.repetition
    }
  }

  package init(_ settings: SourceOptions<Source.Element>) {
    isInitial = settings.isInitial
    isOnce = settings.isOnce
    isWithoutOld = settings.isWithoutOld
    if let isRepetition = settings.isRepetition { repetition = Repetition(says: isRepetition) }
  }

  /// The options as they reach the source.
  @inline(__always)
  package var settings: SourceOptions<Source.Element> {
    SourceOptions(
      isInitial: isInitial, isOnce: isOnce, isWithoutOld: isWithoutOld,
      isRepetition: repetition == nil ? nil : isRepetition)
  }

  /// The options of messages, which have no value to begin with and no old value to compare.
  @inline(__always)
  var messageSettings: SourceOptions<Source.Element> { SourceOptions(isOnce: isOnce) }

  @inline(never)
  private var isRepetition: (@Sendable (Source.Element) -> Bool)? {
    (repetition as! Repetition<Source.Element>?)?.says
  }

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

extension ObservationOptions where Source: StateSource {
  /// Begins with a call that carries the value at the registration; changes wait until it returns.
  ///
  /// A concurrent asynchronous observer receives the changes that waited one after the other, and
  /// each later change in its own call at once.
  ///
  /// If a pause delays the first call, or a full buffer drops it, it carries the newest value
  /// instead. A bounded sequence drops the first value like any other.
  ///
  /// The call is made on the observer's delivery: before `observe` returns if the delivery is
  /// immediate, or if the caller is on the delivery's target and a post from there would run the
  /// observer inline. A delivery that always queues makes the call later: an `ordered` one, one
  /// with a bounded buffer, or one to an actor, an executor, a global queue or an asynchronous
  /// observer.
  ///
  /// The first call of a combined state carries the values that its two states have delivered to
  /// it. If one of them is still delivering a change, the change follows.
  public static var initial: Self { Self(SourceOptions(isInitial: true)) }
}

extension ObservationOptions where Source: StateSource {
  /// Says that the observer does not use the old values of the changes.
  ///
  /// If all observers of a state say so, ``CurrentValue/update(_:)`` keeps no old value, so an
  /// array that it appends to is not copied, and the old values of these changes are `nil`. With
  /// `.distinct`, which compares the old value, this option has no effect.
  public static var withoutOld: Self { Self(SourceOptions(isWithoutOld: true)) }
}

extension ObservationOptions where Source: StateSource, Source.Value: Equatable {
  /// Leaves out changes from a value to an equal one.
  ///
  /// It compares the old and the new value of the change. `==` runs where the observer runs, while
  /// no lock is held. If the value is an object that is changed in place, both are that object, so
  /// the change is left out. A value that is not equal to itself, such as a floating-point NaN, is
  /// never left out, so two states that set each other to it never come to rest.
  ///
  /// For an observer with a bounded buffer, `==` runs on the thread that sets the value, and an
  /// equal value takes no room. Its change after a pause may have equal values.
  public static var distinct: Self {
    Self(
      SourceOptions(isRepetition: { change in
        if let old = change.old { old == change.new } else { false }
      }))
  }
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

/// Decides whether an element is a repetition.
private final class Repetition<Element>: Sendable {
  let says: @Sendable (Element) -> Bool
  init(says: @escaping @Sendable (Element) -> Bool) { self.says = says }
}

/// Options as they reach a source.
package struct SourceOptions<Element: Sendable>: Sendable {
  package var isInitial = false
  package var isOnce = false
  /// Whether the observer does not use the old values of changes.
  var isWithoutOld = false
  /// Whether an element is a repetition; such an element is left out.
  package var isRepetition: (@Sendable (Element) -> Bool)?

  @inline(__always)
  package init(
    isInitial: Bool = false, isOnce: Bool = false, isWithoutOld: Bool = false,
    isRepetition: (@Sendable (Element) -> Bool)? = nil
  ) {
    self.isInitial = isInitial
    self.isOnce = isOnce
    self.isWithoutOld = isWithoutOld
    self.isRepetition = isRepetition
  }

  /// Whether an observer needs only the elements themselves.
  var isPlain: Bool { !isInitial && !isOnce && isRepetition == nil }
  /// Whether the observer uses the old values of changes.
  var isOldWanted: Bool { !isWithoutOld || isRepetition != nil }
}
