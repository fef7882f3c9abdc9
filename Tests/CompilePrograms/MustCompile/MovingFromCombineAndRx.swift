// The examples of the guide of this name.
import Campanile
import CampanileFoundation
import Foundation

extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
}

final class Player: Sendable {
  private let finishes = Broadcaster<String>()
  var finished: Signal<String> { finishes.signal }

  func finish(_ title: String) { finishes.send(title) }
}

@MainActor
final class Screen {
  var title = ""

  func follow(_ player: Player) {
    player.finished.observe(owner: self, on: .main) { screen, title in
      screen.title = title
    }
  }
}

final class Volume: Sendable {
  private let state = CurrentValue(0.5)
  var level: ReadOnlyState<Double> { state.readOnly }

  func set(_ level: Double) { state.value = level }
  func mute() { state.update { $0 = 0 } }
}

@MainActor
final class Slider {
  var position = 0.0

  func follow(_ volume: Volume) {
    volume.level.observe(owner: self, on: .main, options: [.initial, .distinct]) { slider, level in
      slider.position = level
    }
  }
}

final class Diary {
  private let observations = TokenBag()

  func start(_ player: Player, _ volume: Volume) {
    player.finished.observe { print("finished \($0)") }.store(in: observations)
    volume.level.observe(on: .queue(.main)) { print($0) }.store(in: observations)
  }

  func stop() { observations.cancel() }
}

func follow(_ screen: Screen, _ center: NotificationCenter) {
  center.notifications(of: .trackChanged).observe(owner: screen, on: .main) {
    screen, notification in
    screen.title = notification["title"] ?? ""
  }
}

final class Field: Sendable {
  let text = CurrentValue("")

  func show(_ query: String) async { print(query) }
}

func search(_ field: Field) async {
  let queries = field.text.values(buffering: .newest(1), options: .initial)
    .map { $0.lowercased() }
    .filter { $0.count > 2 }
  for await query in queries {
    await field.show(query)
  }
}
