internal import Observation
public import Synchronization

/// Whether an object or one property has been tracked or observed.
///
/// The bits are never cleared: a property that was tracked once may be tracked again at any time.
@usableFromInline
struct PropertyUses: ~Copyable, Sendable {
  @usableFromInline let bits = Atomic<UInt8>(0)

  /// Read inside `withObservationTracking` or `Observations`.
  static var tracked: UInt8 { 1 }
  /// Read by an observation.
  static var observed: UInt8 { 2 }

  @usableFromInline init() {}

  /// Whether it has never been tracked or observed.
  @inlinable var isNone: Bool { bits.load(ordering: .relaxed) == 0 }

  func include(_ use: UInt8) -> Bool { bits.load(ordering: .relaxed) & use != 0 }

  func note(_ use: UInt8) { bits.bitwiseOr(use, ordering: .sequentiallyConsistent) }

  /// Whether reads are, or were, tracked.
  ///
  /// Called by getters.
  func areTracked(with registrar: ObservationRegistrar) -> Bool {
    if include(Self.tracked) { return true }
    guard TrackingProbe.isTracked(with: registrar) else { return false }
    note(Self.tracked)
    return true
  }
}
