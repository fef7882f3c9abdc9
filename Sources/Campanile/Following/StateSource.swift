/// A source that has a value at all times, and reports each new one.
///
/// A ``CurrentValue`` can be set; its ``ReadOnlyState`` can be read and observed. With `.initial`,
/// an observer is first called with the current value. With `.distinct`, it receives no value that is
/// equal to the one before.
public protocol StateSource<Value>: ValueChangeSource where Element == Value {
  /// The values that observers receive.
  ///
  /// It has a default, so that a type of your own need not name it.
  associatedtype Element = Value

  /// The read-only view of the state.
  var readOnly: ReadOnlyState<Value> { get }
}

extension StateSource {
  /// The values of the state, without access to its current value.
  public var signal: Signal<Value> { readOnly.signal }

  /// The current value.
  public var value: Value { readOnly.value }

  /// The changes of the state: each value with the one that the observer knew before.
  ///
  /// ```swift
  /// token = rows.changes.observe(on: .main) { change in
  ///   list.apply(change.new.difference(from: change.old ?? []))
  /// }
  /// ```
  ///
  /// Changes that the observer missed are part of the next one. The observer keeps the value until
  /// the next change, so an array that ``CurrentValue/update(_:)`` then edits is copied. A `filter` of
  /// changes runs only where the observer runs, so a change that it leaves out takes room in a buffer.
  /// To transform what a bounded sequence reads, transform the sequence: a `map` before it knows what
  /// arrived, and not what was read.
  public var changes: StateChanges<Value> { StateChanges(base: readOnly.base) }
}

/// A source of the values of a state, or of its changes.
public protocol ValueChangeSource<Value>: ObservationSource {
  /// The type of the state's value.
  associatedtype Value: Sendable
}

/// The changes of a state, each with the value that the observer knew before.
public struct StateChanges<Value: Sendable>: ValueChangeSource {
  fileprivate let base: any StateBase<Value>

  /// The changes as a signal.
  public var signal: Signal<ValueChange<Value>> { Signal(base: ChangesBase(base)) }
}

/// The changes of a state as the base of a signal.
private final class ChangesBase<Value: Sendable>: StateReading {
  private let base: any StateBase<Value>

  init(_ base: any StateBase<Value>) { self.base = base }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<ValueChange<Value>>
  ) -> Registration {
    let following = Following<Value>(request.takeOptions(), ofChanges: true)
    return base.follow(request, following, following.wrap(changes: body))
  }

  func makeReader(
    _ buffer: SequenceBuffer, _ request: consuming ObservationRequest
  ) -> ValueSequence<ValueChange<Value>>.Reader {
    let following = Following<Value>(request.takeOptions(), ofChanges: true)
    return base.makeReader(buffer, request, following) { ValueChange(old: $0, new: $1) }
  }
}
