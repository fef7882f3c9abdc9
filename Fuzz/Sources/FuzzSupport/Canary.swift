/// What observers capture: knows whether it is alive, and how many are.
public final class Canary: Sendable {
  /// Counts canaries; used by one thread.
  public final class Cage: @unchecked Sendable {
    // SAFETY: a fuzzer runs on one thread.
    public fileprivate(set) var count = 0
    public init() {}
  }

  private let cage: Cage

  public init(_ cage: Cage) {
    self.cage = cage
    cage.count += 1
  }

  deinit { cage.count -= 1 }

  public func check() { require(cage.count > 0, "An observer was called after its release") }
}
