internal import Observation
internal import Synchronization

/// Finds out whether the calling code is tracked, as by `withObservationTracking`.
///
/// The standard registrar has no API for that. But while a read is tracked, and only then, the
/// registrar inserts its key path into a set, which hashes the key path with its arguments. So a key
/// path with a probe as its argument counts the hashes.
///
/// A property that is not tracked bypasses that registrar, which takes two locks for each change. If
/// the registrar does not behave as described, which is tested before the first use, all code counts
/// as tracked.
struct TrackingProbe: Hashable, Sendable {
  private struct Subject: Observable {
    subscript(probe: TrackingProbe) -> Int { probe.number }
  }

  private static let keyPath: any KeyPath<Subject, Int> & Sendable = \Subject[TrackingProbe()]
  /// Whether the registrar behaves as described.
  private static let isGood = {
    let registrar = ObservationRegistrar()
    // The registrar is kept until the change that ends the tracking.
    defer { registrar.willSet(Subject(), keyPath: keyPath) }
    return withObservationTracking({ isHashed(by: registrar) }, onChange: {})
  }()
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
    !isGood || isHashed(by: registrar)
  }

  /// Whether a read is inserted into a set.
  @inline(__always)
  private static func isHashed(by registrar: ObservationRegistrar) -> Bool {
    let before = hashes.load(ordering: .relaxed)
    registrar.access(Subject(), keyPath: keyPath)
    return hashes.load(ordering: .relaxed) != before
  }
}
