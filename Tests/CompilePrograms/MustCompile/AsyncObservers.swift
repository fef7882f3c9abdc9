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
    center.observeAsync(TrackChanged.self, owner: self) { importer, message in
      try await importer.library.add(message.title)
      try await importer.done.sendAndWait(message.title)
    }
    center.observeAsync(TrackChanged.self, owner: self, execution: .concurrent) {
      importer, message in
      try await importer.library.add(message.title)
    }
    done.observeAsync(owner: self, buffering: .oldest(100)) { importer, title in
      try await importer.library.add(title)
    }
    return center.observeAsync(TrackChanged.self, buffering: .newest(1)) { [library] message in
      try await library.add(message.title)
    }
  }
}

func stop(_ token: ObservationToken) async {
  let end = await token.cancelAndFinish()
  if end == .insideObserver { return }
}
