// What a program posts: messages about nothing, about an instance, generic ones.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

final class MutablePlayer {
  var volume: Float = 1
}

struct VolumeChanged: MessageCenter.Message {
  typealias Subject = MutablePlayer
}

struct Changed<Value: Sendable>: MessageCenter.Message { var value: Value }

enum Playback: MessageCenter.Message { case started, stopped }

func post(_ center: MessageCenter, _ player: Player, _ mutable: MutablePlayer) async throws {
  center.post(TrackChanged(title: "Aria"))
  center.post(LevelChanged(level: 0.4))
  center.post(LevelChanged(level: 0.4), about: player)
  center.post(VolumeChanged(), about: mutable)
  center.post(Changed(value: 1))
  center.post(Playback.started)
  MessageCenter.default.post(Playback.stopped)
  try await center.postAndWait(TrackChanged(title: "Aria"))
  try await center.postAndWait(LevelChanged(level: 0.4), about: player)
}

func observe(_ center: MessageCenter, _ mutable: MutablePlayer) -> ObservationToken {
  // A subject need not be Sendable, unless the observer is told it.
  center.messages(of: VolumeChanged.self, about: mutable).observe { _ in }
}

func postAny(_ message: any MessageCenter.Message, in center: MessageCenter) {
  center.post(message)
}
