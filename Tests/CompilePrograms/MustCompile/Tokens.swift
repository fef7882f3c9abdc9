// Tokens are kept in properties; releasing one ends its observation.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

final class Log {
  private var token: ObservationToken?
  private var tokens: [ObservationToken] = []
  private let bag = TokenBag()

  func start(_ center: MessageCenter, _ player: Player) {
    self.token = center.observe(TrackChanged.self) { print($0.title) }
    let levels = center.messages(of: LevelChanged.self, about: player)
    tokens.append(levels.observe { print($0.level) })
    tokens.append(levels.withSubject.observe { print($0.message, $0.subject as Any) })
    tokens += [
      center.observe(TrackChanged.self, on: .queue(.main)) { print($0.title) },
      center.observe(TrackChanged.self, on: .main) { print($0.title) },
      levels.withSubject.observe(on: .main) { print($0.message, $0.subject as Any) },
      center.anyMessage.observe { print($0.message) },
    ]
    center.observe(TrackChanged.self) { print($0.title) }.store(in: bag)
  }

  func stop() async {
    self.token = nil
    tokens.first?.pause()
    tokens.first?.resume()
    tokens.first?.cancel()
    _ = await tokens.last?.cancelAndWait()
    bag.cancel()
  }

  func stopNow() -> Bool {
    tokens.last?.cancelAndWait() == .finished
  }
}

@MainActor
final class ScreenWithToken {
  var title = ""
  private var token: ObservationToken?

  func start(_ broadcaster: Broadcaster<String>) {
    token = broadcaster.observe(on: .main) { print($0) }
  }
}
