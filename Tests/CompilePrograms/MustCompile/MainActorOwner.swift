// A class isolated to the main actor owns what it observes: no token, no weak self, no deinit.
import Campanile
import Dispatch

struct TrackChanged: MessageCenter.Message { var title: String }

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

final class Player: Sendable {
  let isPlaying = CurrentValue(false)
}

@MainActor
final class Screen {
  var title = ""
  var level: Float = 0
  var loudest: Player?
  private let observations = TokenBag()

  init(_ center: MessageCenter, _ player: Player) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      screen.title = message.title
    }
    center.observe(TrackChanged.self, owner: self, on: .main(ordered: true)) { $0.title = $1.title }
    let levels = center.messages(of: LevelChanged.self, about: player)
    levels.observe(owner: self, on: .main) { screen, message in
      screen.level = message.level
    }
    levels.withSubject.observe(owner: self, on: .main) { screen, posted in
      screen.loudest = posted.subject
    }
    center.observe(
      TrackChanged.self, owner: self, on: .main(buffering: .newest(1)), options: .once
    ) { screen, message in
      screen.show(message)
    }
    center.observe(TrackChanged.self, owner: self, on: .main) { $0.show($1) }
      .store(in: observations)
    player.isPlaying.observe(owner: self, on: .main, options: [.initial, .distinct]) {
      screen, isPlaying in
      screen.title = isPlaying ? "playing" : "silent"
    }
    center.anyMessage.observe(owner: self, on: .main) { screen, posted in
      screen.title = "\(posted.message)"
    }
    // An observer without isolation that says itself where it goes.
    center.observe(TrackChanged.self, owner: self) { screen, message in
      Task { await screen.show(message) }
    }
    center.messages(of: TrackChanged.self).observeAsync(owner: self) { screen, message in
      await screen.show(message)
    }
  }

  func show(_ message: TrackChanged) { title = message.title }

  func willAppear() { observations.resume() }
  func didDisappear() { observations.pause() }
}
