internal import Observation
public import Synchronization

/// What has been done with the properties of an object, or with one of them: tracked, observed.
///
/// Nothing is forgotten: what has been tracked once may be tracked again by somebody who is about
/// to say so.
@usableFromInline
struct PropertyUses: ~Copyable, Sendable {
  @usableFromInline let bits = Atomic<UInt8>(0)

  /// Read by somebody who tracks.
  static var tracked: UInt8 { 1 }
  /// Asked about by an observation.
  static var observed: UInt8 { 2 }

  @usableFromInline init() {}

  /// Whether nobody wants to hear of changes.
  @inlinable var isNone: Bool { bits.load(ordering: .relaxed) == 0 }

  func include(_ use: UInt8) -> Bool { bits.load(ordering: .relaxed) & use != 0 }

  func note(_ use: UInt8) { bits.bitwiseOr(use, ordering: .sequentiallyConsistent) }

  /// Whether reads are, or were, tracked; for a getter.
  func areTracked(with registrar: ObservationRegistrar) -> Bool {
    if include(Self.tracked) { return true }
    guard TrackingProbe.isTracked(with: registrar) else { return false }
    note(Self.tracked)
    return true
  }
}
