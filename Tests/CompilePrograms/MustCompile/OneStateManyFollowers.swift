// The examples of the guide of this name.
import Campanile

final class Player: Sendable {
  private let state = CurrentValue(false)

  var isPlaying: ReadOnlyState<Bool> { state.readOnly }

  func play() { state.value = true }
  func stop() { state.value = false }
}

@MainActor
final class Recorder {
  @CurrentValue private(set) var isRecording = false

  func start() { isRecording = true }
}

nonisolated struct TrackChanged: MessageCenter.Message { var title: String }

nonisolated struct Progressed: MessageCenter.Message {
  var file: String
  var percent: Int
}

final class Disk: Sendable {
  private let state = CurrentValue(false)
  var isFull: ReadOnlyState<Bool> { state.readOnly }
}

@MainActor
final class Button {
  var isSelected = false
  var isEnabled = false
  var title = ""

  init(_ player: Player, _ disk: Disk, _ center: MessageCenter) {
    let label = player.isPlaying.map { $0 ? "Stop" : "Play" }
    label.observe(owner: self, on: .main, options: [.initial, .distinct]) { button, change in
      button.title = change.new
    }
    let mayRecord = player.isPlaying.combined(with: disk.isFull).map { !$0 && !$1 }
    mayRecord.observe(owner: self, on: .main, options: .initial) { button, change in
      button.isEnabled = change.new
    }
    let latest = center.latest(of: TrackChanged.self)
    latest.observe(owner: self, on: .main, options: .initial) { button, change in
      button.title = change.new?.title ?? "nothing"
    }
  }

  init(_ recorder: Recorder) {
    recorder.$isRecording.observe(owner: self, on: .main, options: .initial) { button, change in
      button.isSelected = change.new
    }
  }

  init(_ player: Player) {
    player.isPlaying.observe(owner: self, on: .main, options: .initial) { button, change in
      button.isSelected = change.new
    }
    player.isPlaying.observe(owner: self, on: .main, options: [.initial, .distinct]) {
      button, change in
      button.title = change.new ? "Stop" : "Play"
    }
  }
}

func follow(_ lines: CurrentValue<[String]>) {
  let token = lines.observe(options: .withoutOld) { change in print(change.new.count) }
  lines.update { $0.append("one more") }
  withExtendedLifetime(token) {}
}

func rest(_ registration: Registration) {
  registration.pause()
  registration.resume()
}

actor ProgressList {
  private nonisolated let pending = CurrentValue<[String: Int]>([:])
  private(set) var shown: [String: Int] = [:]

  nonisolated func follow(_ center: MessageCenter) {
    center.observe(Progressed.self, owner: self) { list, message in
      list.pending.update { $0[message.file] = message.percent }
    }
  }

  func run() async throws {
    for await change in pending.values(buffering: .newest(1), options: .initial)
    where !change.new.isEmpty {
      let newest = pending.update { pending in
        defer { pending = [:] }
        return pending
      }
      shown.merge(newest) { $1 }
      try await Task.sleep(for: .milliseconds(33))
    }
  }
}

func add() -> Int {
  let played = CurrentValue<[String]>([])
  let count = played.update { titles in
    titles.append("Aria")
    return titles.count
  }
  return count
}

func read(_ player: Player) async {
  for await change in player.isPlaying.values(options: .initial) {
    print(change.new ? "playing" : "silent")
  }
}
