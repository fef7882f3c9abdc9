internal import Observation
internal import Synchronization

/// Finds out whether the calling code is tracked, as by `withObservationTracking`.
///
/// The standard registrar has no API for that. But while a read is tracked, the registrar inserts
/// its key path into a set, and it doesn't otherwise. Inserting a key path into a set hashes it,
/// with its arguments. So a key path with a probe as its argument counts the hashes.
///
/// A property that is not tracked then bypasses that registrar, which takes two locks for each
/// change. Whether the registrar behaves as described is tested before the first use. If it does
/// not, all code counts as tracked.
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

  /// Whether the calling code is tracked.
  ///
  /// It may also return `true` while another thread is tracked.
  ///
  /// - Parameter registrar: The registrar of the object that is being read. If the read is tracked,
  ///   so is a key path of this probe, which never changes. Both are tracked until the same end.
  static func isTracked(with registrar: ObservationRegistrar) -> Bool {
    var trust = trust.load(ordering: .relaxed)
    if trust == .untried { trust = tryOut(with: registrar) }
    return trust == .bad || isHashed(by: registrar)
  }

  /// Whether a read is inserted into a set.
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
