// Observers that throw, and the list of who observes.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }
struct Untitled: Error {}

func observe() -> ObservationToken {
  let center = MessageCenter(label: "tracks") { failure in
    print(failure.error, failure.file, failure.line)
  }
  for description in center.registrations where description.isPaused {
    description.registration.resume()
  }
  print(center, center.observerCount)
  return center.observe(TrackChanged.self) { message in
    if message.title.isEmpty { throw Untitled() }
  }
}

func observeBroadcaster() -> ObservationToken {
  let ticks = Broadcaster<Int> { print($0) }
  return ticks.observe { if $0 < 0 { throw Untitled() } }
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

func measure(_ token: ObservationToken) -> MessageCenter {
  let center = MessageCenter(onEvent: { event in
    if event.kind == .called { print(event.valueType, event.file ?? "", event.line ?? 0) }
  })
  let state = CurrentValue(false, onEvent: { print($0.kind) })
  let ticks = Broadcaster<Int>(onEvent: { print($0.kind) })
  state.removeObservers(ownedBy: center)
  ticks.removeObservers(ownedBy: center)
  center.removeObserver(token)
  center.removeObserver(token.registration)
  return center
}
