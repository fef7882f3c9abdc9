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
    label.observe(owner: self, on: .main, options: [.initial, .distinct]) { button, label in
      button.title = label
    }
    let mayRecord = player.isPlaying.combined(with: disk.isFull) { !$0 && !$1 }
    mayRecord.observe(owner: self, on: .main, options: .initial) { button, mayRecord in
      button.isEnabled = mayRecord
    }
    let latest = center.latest(of: TrackChanged.self)
    latest.observe(owner: self, on: .main, options: .initial) { button, message in
      button.title = message?.title ?? "nothing"
    }
  }

  init(_ recorder: Recorder) {
    recorder.$isRecording.observe(owner: self, on: .main, options: .initial) {
      button, isRecording in
      button.isSelected = isRecording
    }
  }

  init(_ player: Player) {
    player.isPlaying.observe(owner: self, on: .main, options: .initial) { button, isPlaying in
      button.isSelected = isPlaying
    }
    player.isPlaying.observe(owner: self, on: .main, options: [.initial, .distinct]) {
      button, isPlaying in
      button.title = isPlaying ? "Stop" : "Play"
    }
  }
}

@MainActor
final class List {
  private(set) var rows: [String] = []

  func apply(_ difference: CollectionDifference<String>) {
    if let rows = rows.applying(difference) { self.rows = rows }
  }
}

@MainActor
func follow(_ rows: CurrentValue<[String]>, _ list: List) {
  let token = rows.changes.observe(on: .main(buffering: .newest(1)), options: .initial) { change in
    list.apply(change.new.difference(from: change.old ?? []))
  }
  withExtendedLifetime(token) {}
}

func hold(_ volumeChanges: Signal<Int>) -> ReadOnlyState<Int> {
  let volume = volumeChanges.state(initially: 5)
  return volume
}

nonisolated final class Microphone: Sendable {
  func start() {}
  func stop() {}
}

func listen(_ levels: Broadcaster<Float>, _ microphone: Microphone) -> ObservationToken {
  let token = levels.isObserved.observe(options: .initial) { isObserved in
    if isObserved { microphone.start() } else { microphone.stop() }
  }
  return token
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
    for await waiting in pending.values(buffering: .newest(1), options: .initial)
    where !waiting.isEmpty {
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
  for await isPlaying in player.isPlaying.values(options: .initial) {
    print(isPlaying ? "playing" : "silent")
  }
}
