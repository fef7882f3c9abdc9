import Campanile
import Foundation

/// Computes how loud the music was, off the main thread.
actor Statistics {
  let tally = Tally("statistics", counts: "levels")
  private var loudest: Float = 0
  private var sum = 0.0

  /// The result, written at the end.
  var summary: String {
    let mean = sum / Double(max(tally.count, 1))
    return "Loudest \(decibels(Double(loudest))), on average \(decibels(mean))."
  }

  /// Follows `player`.
  ///
  /// The actor is the owner, and the observer runs isolated to it.
  func follow(_ player: Player) {
    player.center.messages(of: LevelChanged.self, about: player).observe(on: self) {
      statistics, message in
      statistics.hear(message.peak)
    }
  }

  private func hear(_ peak: Float) {
    tally.note()
    loudest = max(loudest, peak)
    sum += Double(peak)
  }

  private func decibels(_ level: Double) -> String {
    level > 0 ? "\((200 * log10(level)).rounded() / 10 + 0) dB" : "silence"
  }
}
