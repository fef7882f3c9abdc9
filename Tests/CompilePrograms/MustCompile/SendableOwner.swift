// A Sendable class that keeps its state in a lock or an atomic owns what it observes.
import Campanile
import Dispatch
import Synchronization

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

nonisolated final class Meter: Sendable {
  private let peak = Mutex<Float>(0)
  private let count = Atomic<Int>(0)
  let lifetime = Lifetime()

  func follow(_ center: MessageCenter, _ player: Player, on queue: DispatchQueue) {
    center.messages(of: LevelChanged.self, about: player).observe(owner: self) { meter, message in
      meter.note(message)
    }
    center.messages(of: LevelChanged.self).withSubject.observe(owner: self) { meter, posted in
      if posted.subject === player { meter.note(posted.message) }
    }
    center.observe(LevelChanged.self, owner: self, on: .queue(queue)) { $0.note($1) }
    center.observe(LevelChanged.self, owner: self, on: .queue(queue, ordered: true)) { $0.note($1) }
    center.observe(LevelChanged.self, owner: self, on: .queue(.main), options: .once) {
      $0.note($1)
    }
    center.observe(LevelChanged.self, owner: self) { meter, _ in
      meter.count.wrappingAdd(1, ordering: .relaxed)
    }
    center.removeObservers(ownedBy: self, of: LevelChanged.self, about: player)
    center.removeObservers(ownedBy: self, of: LevelChanged.self)
    center.removeObservers(ownedBy: self)
  }

  private func note(_ message: LevelChanged) {
    peak.withLock { $0 = max($0, message.level) }
  }
}

extension Meter: LifetimeOwner {}
