// The examples of the guide of this name.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Float
}

@MainActor
final class OwningScreen {
  var title = ""

  func follow(_ center: MessageCenter) {
    let registration = center.observe(TrackChanged.self, owner: self, on: .main) {
      $0.title = $1.title
    }
    registration.pause()
    registration.resume()
    registration.cancel()
  }
}

@MainActor
final class Screen {
  private var title = ""

  isolated deinit {
    print("closed with \(title)")
  }
}

final class Meter: LifetimeOwner {
  let lifetime = Lifetime()

  func follow(_ center: MessageCenter) {
    center.observe(LevelChanged.self, owner: self) { meter, message in
      meter.show(message.level)
    }
  }

  func show(_ level: Float) { print(level) }
}

actor Statistics: LifetimeOwner {
  let lifetime = Lifetime()
}

func act() {
  let lifetime = Lifetime()
  lifetime.onEnd { print("ended") }
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

func shutDown(_ center: MessageCenter) {
  center.finish()
}

final class LogOfOne {
  private var token: ObservationToken?

  func start(_ center: MessageCenter) {
    token = center.observe(TrackChanged.self, options: .once) { print("first: \($0.title)") }
  }
}

@MainActor
final class StackedScreen {
  var title = ""

  private let observations = TokenBag()

  func load(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      screen.title = message.title
    }.store(in: observations)
  }

  func willAppear() { observations.resume() }
  func didDisappear() { observations.pause() }
}

func remove(_ meter: Meter, _ player: Player, _ center: MessageCenter) {
  center.removeObservers(ownedBy: meter)
  center.removeObservers(ownedBy: meter, of: LevelChanged.self)
  center.removeObservers(ownedBy: meter, of: LevelChanged.self, about: player)
}

func stop(_ registration: Registration) async -> Bool {
  await registration.cancelAndWait() == .finished
}

func stopOnAThread(_ registration: Registration) -> Bool {
  registration.cancelAndWait() == .finished
}
