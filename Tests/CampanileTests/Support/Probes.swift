import Dispatch

@testable import Campanile

/// Holds the engine at one of its checkpoints, on one thread, once.
///
/// Only debug builds have checkpoints.
final class EngineGate: Sendable {
  private struct State {
    var checkpoint: ObserverRegistry.Checkpoint?
    var isArmed = false
  }

  let gate = Gate()
  private let state = Locked(State())

  /// The next thread that comes to `checkpoint` is held there.
  func arm(at checkpoint: ObserverRegistry.Checkpoint) {
    state.withLock { $0 = State(checkpoint: checkpoint, isArmed: true) }
  }

  /// What a registry calls at its checkpoints.
  @Sendable func reach(_ checkpoint: ObserverRegistry.Checkpoint) {
    let holds = state.withLock { state in
      guard state.isArmed, state.checkpoint == checkpoint else { return false }
      state.isArmed = false
      return true
    }
    if holds { gate.pass() }
  }
}

extension ObserverList {
  /// How many registrations have not ended.
  var count: Int { registry.withState { _ in registrations.count } }
}

extension SubjectIndex {
  /// How many subjects the table has places for.
  var capacity: Int { current?.capacity ?? 0 }
}

extension Broadcaster {
  /// A broadcaster whose engine can be held.
  convenience init(heldBy gate: EngineGate) {
    self.init(registry: ObserverRegistry(probe: gate.reach))
  }
}

extension MessageCenter {
  /// A center whose engine can be held.
  convenience init(heldBy gate: EngineGate) {
    self.init(label: "", registry: ObserverRegistry(probe: gate.reach))
  }
}
