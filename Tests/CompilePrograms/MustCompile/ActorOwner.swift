// An actor observes: the observer is isolated to it, and the actor is the owner.
import Campanile

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

actor Statistics {
  var peak: Float = 0
  var loudest: Player?
  var ticks = 0
  private var registration: Registration?

  func follow(_ center: MessageCenter, _ player: Player, _ broadcaster: Broadcaster<Int>) {
    registration = center.observe(LevelChanged.self, on: self) { statistics, message in
      statistics.peak = max(statistics.peak, message.level)
    }
    let levels = center.messages(of: LevelChanged.self, about: player)
    levels.withSubject.observe(on: self) { statistics, posted in
      statistics.loudest = posted.subject
    }
    broadcaster.observe(on: self, buffering: .oldest(8)) { statistics, value in
      statistics.ticks += value
    }
    broadcaster.observe(on: self) { $0.ticks += $1 }
  }

  func leave() { registration?.cancel() }
}

func followFromOutside(_ statistics: Statistics, _ center: MessageCenter) {
  center.observe(LevelChanged.self, on: statistics) { statistics, message in
    statistics.peak = max(statistics.peak, message.level)
  }
}
