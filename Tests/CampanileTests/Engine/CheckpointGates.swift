import Synchronization
import Testing

@testable import Campanile

/// How many threads a test runs on.
let widths = [1, 2, 8]

extension Gate {
  /// Waits until so many threads have come to the gate.
  func waitUntilReached(by count: Int) {
    for _ in 0..<count { waitUntilReached() }
  }
}

extension LiveCount {
  func increment() { value.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}

#if DEBUG
  /// Holds threads at checkpoints of one engine, each checkpoint at a gate of its own.
  ///
  /// Only debug builds have checkpoints.
  final class CheckpointGates: Sendable {
    /// Where a thread can be held: at a checkpoint of the engine, or in a test's observer.
    enum Place: Hashable, Sendable {
      case engine(ObserverRegistry.Checkpoint)
      case observer
    }

    private struct Hold {
      let place: Place
      let gate: Gate
      var count: Int
    }

    private let holds = Locked<[Hold]>([])

    /// The next `count` visits to `place` are held at the gate that is returned.
    @discardableResult
    func hold(_ count: Int = 1, at place: Place, gate: Gate = Gate()) -> Gate {
      holds.withLock { $0.append(Hold(place: place, gate: gate, count: count)) }
      return gate
    }

    func hold(_ count: Int = 1, at checkpoint: ObserverRegistry.Checkpoint) -> Gate {
      hold(count, at: .engine(checkpoint))
    }

    /// Holds the calling thread if it is to be held at `place`.
    func reach(_ place: Place) {
      let gate = holds.withLock { holds -> Gate? in
        guard let index = holds.firstIndex(where: { $0.place == place }) else { return nil }
        let gate = holds[index].gate
        holds[index].count -= 1
        if holds[index].count == 0 { holds.remove(at: index) }
        return gate
      }
      gate?.pass()
    }

    /// A registry that can be held here.
    func makeRegistry() -> ObserverRegistry {
      ObserverRegistry(probe: { self.reach(.engine($0)) })
    }
  }

  /// The steps of a post at which another thread is let in.
  enum PostStep: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case announced, watermarked, found, located, willCheck, willCall
    /// Inside the first observer.
    case inCall
    case left

    var testDescription: String { rawValue }

    var place: CheckpointGates.Place {
      switch self {
      case .announced: .engine(.announced)
      case .watermarked: .engine(.watermarked)
      case .found: .engine(.found)
      case .located: .engine(.located)
      case .willCheck: .engine(.willCheck)
      case .willCall: .engine(.willCall)
      case .inCall: .observer
      case .left: .engine(.left)
      }
    }

    /// Whether a post held here has checked the first observer of its list.
    var hasChecked: Bool { self == .willCall || self == .inCall || self == .left }

    /// Whether a post held here has said what it can reach.
    var isSettled: Bool { self != .announced && self != .watermarked && self != .found }
  }

  /// A broadcaster with two observers, the *victim* and the *witness* after it, whose posts and
  /// whose canceller can be held at every step.
  final class HeldSource: Sendable {
    let gates: CheckpointGates
    let source: Broadcaster<Int>
    /// Who was called, in the order of the calls.
    let heard = Recorder<String>()
    /// Lives as long as what the victim captured.
    let victimLife = LiveCount()
    let victim: ObservationToken
    private let witness: ObservationToken

    var registry: ObserverRegistry { source.registry }
    var list: ObserverList { source.list }

    init() {
      let gates = CheckpointGates()
      let source = Broadcaster<Int>(registry: gates.makeRegistry())
      victim = Self.observeAsVictim(source, gates, heard, victimLife)
      witness = source.observe { [heard] _ in
        heard.record("witness")
        gates.reach(.observer)
      }
      self.gates = gates
      self.source = source
    }

    private static func observeAsVictim(
      _ source: Broadcaster<Int>, _ gates: CheckpointGates, _ heard: Recorder<String>,
      _ life: LiveCount
    ) -> ObservationToken {
      let tracked = Tracked(life)
      return source.observe { _ in
        tracked.touch()
        heard.record("victim")
        gates.reach(.observer)
      }
    }

    /// Begins a post on each of `width` threads, and returns when all are held at `step`.
    func beginPosts(_ width: Int, heldAt step: PostStep) -> HeldThreads {
      let gate = gates.hold(width, at: step.place)
      let waits = (0..<width).map { index in onThread { self.source.send(index) } }
      gate.waitUntilReached(by: width)
      return HeldThreads(gate: gate, waits: waits)
    }

    func count(of name: String) -> Int { heard.values.count { $0 == name } }
  }

  /// Threads that are held, until the test lets them finish.
  struct HeldThreads: Sendable {
    let gate: Gate
    let waits: [@Sendable () -> Void]

    /// Lets the threads go on, and returns when they have ended.
    func finish() {
      gate.open()
      for wait in waits { wait() }
    }
  }
#endif
