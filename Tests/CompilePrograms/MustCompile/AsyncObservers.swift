// Observers that suspend, and the ends that wait for them.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

actor Library {
  var titles: [String] = []
  func add(_ title: String) throws { titles.append(title) }
}

final class Importer: Sendable {
  let library = Library()
  let done = Broadcaster<String>()

  func start(_ center: MessageCenter) -> ObservationToken {
    center.messages(of: TrackChanged.self).observeAsync(owner: self) { importer, message in
      try await importer.library.add(message.title)
      try await importer.done.sendAndWait(message.title)
    }
    done.observeAsync(owner: self, buffering: .oldest(100)) { importer, title in
      try await importer.library.add(title)
    }
    let tracks = center.messages(of: TrackChanged.self)
    return tracks.observeAsync(buffering: .newest(1)) { [library] message in
      try await library.add(message.title)
    }
  }
}

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter, _ library: Library) {
    let tracks = center.messages(of: TrackChanged.self)
    tracks.observeAsync(owner: self) { @MainActor screen, message in
      await Task.yield()
      screen.title = message.title
    }
    tracks.observeAsync(owner: library) { library, message in
      try await library.add(message.title)
    }
  }
}

func stop(_ token: ObservationToken) async {
  let end = await token.cancelAndWait()
  if end == .insideObserver { return }
}
