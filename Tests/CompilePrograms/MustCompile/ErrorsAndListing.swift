// Observers that throw, and the list of who observes.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }
struct Untitled: Error {}

func observe() -> [ObservationToken] {
  let center = MessageCenter(label: "tracks")
  let failures = center.failures.observe { failure in
    print(failure.error, failure.file, failure.line)
  }
  for description in center.registrations where description.isPaused {
    description.registration.resume()
  }
  print(center, center.observerCount)
  let token = center.observe(TrackChanged.self) { message in
    if message.title.isEmpty { throw Untitled() }
  }
  return [failures, token]
}

@MainActor
final class Log {
  private(set) var lines: [String] = []

  init() {
    MessageCenter.default.failures.observe(owner: self, on: .main) { log, failure in
      log.lines.append(failure.description)
    }
  }
}

func observeBroadcaster() -> [ObservationToken] {
  let ticks = Broadcaster<Int>()
  return [
    ticks.failures.observe { print($0) },
    ticks.observe { if $0 < 0 { throw Untitled() } },
  ]
}

func replaceDefault() async {
  await MessageCenter.withDefault(MessageCenter()) {
    MessageCenter.default.post(TrackChanged(title: "Aria"))
    await Task.yield()
  }
  MessageCenter.withDefault(MessageCenter()) {
    MessageCenter.default.post(TrackChanged(title: "Aria"))
  }
}

func measure(_ token: ObservationToken) async -> MessageCenter {
  let center = MessageCenter()
  let calls = center.events.observe { event in
    if event.kind == .called { print(event.valueType, event.file ?? "", event.line ?? 0) }
  }
  let state = CurrentValue(false)
  let sets = state.events.observe { print($0.kind) }
  let ticks = Broadcaster<Int>()
  for await event in ticks.events.values(buffering: .newest(100)) { print(event.kind) }
  for token in [calls, sets] { token.cancel() }
  state.removeObservers(ownedBy: center)
  ticks.removeObservers(ownedBy: center)
  center.removeObserver(token)
  center.removeObserver(token.registration)
  return center
}
