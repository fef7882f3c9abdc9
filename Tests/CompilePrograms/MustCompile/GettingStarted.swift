// The examples of the guide of this name.
import Campanile

struct BellRang: MessageCenter.Message { var name: String }

@MainActor
final class Listener {
  var count = 0

  init(_ center: MessageCenter) {
    center.observe(BellRang.self, owner: self, on: .main) { listener, message in
      listener.count += 1
      print("heard the \(message.name) bell")
    }
  }
}

@main
struct Bells {
  @MainActor static func main() async throws {
    let center = MessageCenter()
    let listener = Listener(center)
    try await center.postAndWait(BellRang(name: "great"))
    try await center.postAndWait(BellRang(name: "small"))
    print("rang \(listener.count) times")
  }
}

struct TrackChanged: MessageCenter.Message {
  var title: String
}

func post() {
  let center = MessageCenter(label: "player")
  center.post(TrackChanged(title: "Aria"))
}

@MainActor
final class Screen {
  var title = ""

  init(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      screen.title = message.title
    }
  }
}

final class Log {
  private var token: ObservationToken?

  func start(_ center: MessageCenter) {
    token = center.observe(TrackChanged.self) { print($0.title) }
  }

  func stop() {
    token = nil
  }
}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

@MainActor
final class Meter {
  var level: Float = 0
  var loudest: Player?

  func follow(_ player: Player, _ center: MessageCenter) {
    let levels = center.messages(of: LevelChanged.self, about: player)
    levels.observe(owner: self, on: .main) { meter, message in
      meter.level = message.level
    }
    let all = center.messages(of: LevelChanged.self).withSubject
    all.observe(owner: self, on: .main) { meter, posted in
      meter.loudest = posted.subject
    }
  }
}

func report(_ level: Float, of player: Player, _ center: MessageCenter) {
  center.post(LevelChanged(level: level), about: player)
}

func read(_ center: MessageCenter) async {
  let messages = center.messages(of: TrackChanged.self)
  for await message in messages.values(buffering: .newest(16)) {
    print(message.title)
  }
}

final class Player: Sendable {
  private let finishes = Broadcaster<String>()

  /// The titles of the tracks that have come to their end.
  var finished: Signal<String> { finishes.signal }

  func finish(_ title: String) { finishes.send(title) }
}
