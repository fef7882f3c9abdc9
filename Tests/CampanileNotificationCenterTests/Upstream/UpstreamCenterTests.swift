import Foundation
import Testing

/// What the suite `TestNotificationCenter` of swift-corelibs-foundation shows, as facts of both centers.
///
/// Its suite `TestNotification` is about the struct alone, which stays Foundation's.
@Suite("Upstream's facts of a notification center", .ownThread)
struct UpstreamCenterTests {
  private let log = Recorder<String>()
  private let bell = Bell()

  @Test(
    "An observer of a name and an object is given both, and hears of no other object",
    arguments: Side.allCases)
  func nameAndObject(side: Side) {
    let center = side.makeCenter()
    center.add(.tick, bell) { [log, bell] in
      log.record("\($0.name.rawValue) \($0.object as? Bell === bell)")
    }
    for object in [Bell(), bell] { center.post(.tick, object) }
    #expect(log.values == ["Tick true"])
  }

  @Test("A removed observer is silent, and those around it are not", arguments: Side.allCases)
  func removed(side: Side) {
    let center = side.makeCenter()
    let tokens = (1...3).map { number in
      center.add(.tick) { [log] _ in log.record("\(number)") }
    }
    center.removeObserver(tokens[1])
    center.post(.tick)
    #expect(log.values.sorted() == ["1", "3"])
    for token in tokens { center.removeObserver(token) }
    center.post(.tick)
    #expect(log.count == 2)
  }

  @Test(
    "An observer of no name hears of each, and one of another name of none",
    arguments: Side.allCases)
  func names(side: Side) {
    let center = side.makeCenter()
    for name in [Notification.Name.tick, .tock, nil] {
      center.add(name) { [log] _ in log.record(name?.rawValue ?? "any") }
    }
    center.post(.tick)
    #expect(log.values.sorted() == ["Tick", "any"])
  }

  /// Who posts, as an operation.
  enum Poster: CaseIterable, Sendable {
    case mainQueue, observedQueue, anotherQueue
  }

  @Test(
    "Blocks have run on their queues, or else on the poster's, when the post returns",
    arguments: Side.allCases, Poster.allCases)
  func queues(side: Side, poster: Poster) async {
    let (center, observed) = (side.makeCenter(), SerialOperationQueue())
    let posting: OperationQueue =
      switch poster {
      case .mainQueue: .main
      case .observedQueue: observed
      case .anotherQueue: SerialOperationQueue()
      }
    let places: [(String, OperationQueue?)] = [
      ("its", observed), ("main", .main), ("poster's", nil),
    ]
    for (name, queue) in places {
      center.add(.tick, queue: queue) { [log] _ in
        log.record("\(name) \(OperationQueue.current === queue ?? posting)")
      }
    }
    await withCheckedContinuation { continuation in
      posting.addOperation { [log] in
        center.post(.tick)
        log.record("returned after \(log.count)")
        continuation.resume()
      }
    }
    #expect(log.values.sorted() == ["its true", "main true", "poster's true", "returned after 3"])
  }
}
