import CAllocations

/// What was allocated while something ran, by all threads of the process.
struct Allocations {
  /// How many blocks were allocated.
  let count: Int
  /// By how many bytes the live blocks grew; what was freed counts against it.
  let liveBytes: Int

  /// Whether they can be counted here; where they cannot, results are absent and not zero.
  static let canBeCounted = allocations_can_be_counted()

  /// Runs `body` and counts.
  static func during(_ body: () -> Void) -> Allocations? {
    guard canBeCounted else {
      body()
      return nil
    }
    allocations_begin()
    body()
    allocations_end()
    return Allocations(count: allocations_count(), liveBytes: allocations_live_bytes())
  }

  /// Counts from now on, for `watchedLiveBytes`, until `endWatching()`.
  static func beginWatching() { allocations_begin() }
  static func endWatching() { allocations_end() }
  /// By how many bytes the live blocks have grown since `beginWatching()`.
  static var watchedLiveBytes: Int { allocations_live_bytes() }

  private final class Block {}

  /// Whether a thousand objects count as a thousand blocks, and a block of 4,096 bytes as so many.
  ///
  /// The objects are made by the Swift runtime, which is a library of its own: if its allocations
  /// were not seen, every count would be zero, and this fails.
  static func passesControl() -> Bool {
    guard canBeCounted else { return true }
    let objects = during { for _ in 0..<1_000 { blackHole(Block()) } }
    var block: UnsafeMutableRawPointer?
    let allocated = during { unsafe block = .allocate(byteCount: 4_096, alignment: 16) }
    unsafe blackHole(block)
    let freed = during { unsafe block?.deallocate() }
    guard let objects, let allocated, let freed else { return false }
    return objects.count == 1_000 && objects.liveBytes == 0
      && allocated.count == 1 && (4_096..<4_200).contains(allocated.liveBytes)
      && freed.count == 0 && freed.liveBytes == -allocated.liveBytes
  }
}
