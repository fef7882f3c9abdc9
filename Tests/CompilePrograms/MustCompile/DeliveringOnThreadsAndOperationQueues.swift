// The examples of the guide of this name.
import Campanile
import CampanileFoundation
import Foundation

nonisolated extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
  static let levelChanged = Notification.Name("LevelChanged")
}

struct TrackChanged: MessageCenter.Message { var title: String }

struct LevelChanged: MessageCenter.Message { var level: Float }

nonisolated final class Log: Sendable {
  func write(_ line: String) { print(line) }
}

func observe(_ log: Log, _ messages: MessageCenter, _ writing: OperationQueue) {
  messages.observe(TrackChanged.self, owner: log, on: .operationQueue(writing)) { log, message in
    log.write(message.title)
  }
}

func observeHere(_ log: Log, _ messages: MessageCenter) {
  messages.observe(TrackChanged.self, owner: log, on: .thread(.current)) { log, message in
    log.write(message.title)
  }
}

func observeOnMain(_ log: Log, _ messages: MessageCenter) {
  messages.observe(
    TrackChanged.self, owner: log, on: .runLoop(.main, modes: [.default])
  ) { log, message in
    log.write(message.title)
  }
}

final class Fader {
  private let posting = PostingQueue(on: .queue(.main))
  private let messages = MessageCenter()

  func moved(to level: Float) {
    posting.enqueue(LevelChanged(level: level), to: messages, .asap)
    posting.enqueue(Notification(name: .levelChanged), to: .default, .whenIdle, coalescing: .type)
  }
}
