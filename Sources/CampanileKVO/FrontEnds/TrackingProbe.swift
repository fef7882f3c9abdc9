internal import Observation
internal import Synchronization

/// Learns whether the calling code is tracked, as by `withObservationTracking`.
///
/// The standard registrar does not say. But it puts the key paths that are read while somebody
/// tracks into a set, and leaves them alone otherwise. To put a key path into a set is to hash it,
/// with its arguments: one that has an argument of ours tells us.
///
/// So a property that nobody tracks need not go through that registrar, which takes two locks for
/// each change. Whether what is described here is so is tried out before it is relied on; if not,
/// everybody counts as tracked.
struct TrackingProbe: Hashable, Sendable {
  private enum Trust: UInt8, AtomicRepresentable {
    case untried, good, bad
  }

  private struct Subject: Observable {
    subscript(probe: TrackingProbe) -> Int { probe.number }
  }

  private static let keyPath: any KeyPath<Subject, Int> & Sendable = \Subject[TrackingProbe()]
  private static let trust = Atomic(Trust.untried)
  /// How often a probe has been hashed, on all threads.
  private static let hashes = Atomic<UInt>(0)

  private let number = 0

  static func == (one: Self, other: Self) -> Bool { true }

  func hash(into hasher: inout Hasher) {
    Self.hashes.wrappingAdd(1, ordering: .relaxed)
  }

  /// Whether the calling code is tracked; perhaps also if some other thread is.
  ///
  /// - Parameter registrar: One whose object is being read. If it is tracked, so is a key path of
  ///   this probe, which never changes, until the same end.
  static func isTracked(with registrar: ObservationRegistrar) -> Bool {
    var trust = trust.load(ordering: .relaxed)
    if trust == .untried { trust = tryOut(with: registrar) }
    return trust == .bad || isHashed(by: registrar)
  }

  /// Whether a read is put into a set.
  private static func isHashed(by registrar: ObservationRegistrar) -> Bool {
    let before = hashes.load(ordering: .relaxed)
    registrar.access(Subject(), keyPath: keyPath)
    return hashes.load(ordering: .relaxed) != before
  }

  private static func tryOut(with registrar: ObservationRegistrar) -> Trust {
    let isTold = withObservationTracking {
      isHashed(by: registrar)
    } onChange: {
    }
    let found = isTold ? Trust.good : .bad
    trust.store(found, ordering: .relaxed)
    return found
  }
}
