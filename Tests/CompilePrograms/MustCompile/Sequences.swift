// Messages, values and states as asynchronous sequences, each reader with a buffer of its own.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

func read(
  _ center: MessageCenter, _ player: Player, _ broadcaster: Broadcaster<Int>,
  _ state: CurrentValue<Bool>
) async {
  for await message in center.messages(of: TrackChanged.self).values(buffering: .newest(16)) {
    print(message.title)
  }
  for await message in center.messages(of: LevelChanged.self, about: player).values() {
    print(message.level)
  }
  for await value in broadcaster.values() { print(value) }
  for await value in state.values(options: [.initial, .distinct]) { print(value) }
  for await posted in center.anyMessage.values() { print(posted.message) }
}

func readTwice(_ broadcaster: Broadcaster<Int>) {
  let values: some AsyncSequence<Int, Never> & Sendable = broadcaster.values(buffering: .oldest(4))
  Task { for await value in values { print(value) } }
  Task { for await value in values { print(value) } }
}

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter) async {
    for await message in center.messages(of: TrackChanged.self).values() {
      title = message.title
    }
  }
}

func countDrops(_ broadcaster: Broadcaster<Int>) -> Int {
  let values = broadcaster.values(buffering: .newest(1))
  broadcaster.send(1)
  broadcaster.send(2)
  print(values.registration.waitingCount, broadcaster.registrations[0].droppedCount)
  return values.registration.droppedCount
}
