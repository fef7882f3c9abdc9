// isolated to the main actor by default
import Campanile
import CampanileFoundation
import CampanileRelay
import Dispatch
import Foundation

struct Track: Equatable {
  var title: String
  var caption: String { "Aria" }
  init(title: String) { self.title = title }
}

struct TrackChanged: MessageCenter.Message { var track: Track }

struct TrackStarted: MessageCenter.Message {
  // expect-error: main actor-isolated default value in a nonisolated context
  var track = Track(title: "none")
}

public nonisolated struct PublicTrack { public var title = "" }
// expect-error: non-Sendable type 'PublicTrack'
public struct PublicTrackChanged: MessageCenter.Message { public var track: PublicTrack }

func caption(_ track: Track) -> String { track.title }

func derived(_ center: MessageCenter, _ track: ReadOnlyState<Track>, favorite: Track) {
  // expect-error: main actor-isolated conformance of 'Track' to 'Equatable' cannot be used in nonisolated context
  _ = center.messages(of: TrackChanged.self).filter { $0.track == favorite }
  // expect-error: loses global actor 'MainActor'
  _ = track.map(caption)
  // expect-error: to '@Sendable (Track) -> String' may introduce data races
  _ = track.map(\.caption)
}

final class TitleLabel {
  var text = ""

  func follow(_ track: ReadOnlyState<Track>) {
    // expect-error: main actor-isolated conformance of 'Track' to 'Equatable' cannot satisfy conformance requirement for a 'Sendable' type parameter
    track.observe(owner: self, on: .main, options: [.initial, .distinct]) { $0.text = $1.title }
  }
}

nonisolated final class Index: Sendable {
  func follow(_ center: MessageCenter, _ queue: DispatchQueue) {
    center.observe(TrackChanged.self, owner: self, on: .queue(queue)) { index, message in
      // expect-error: main actor-isolated property 'caption' can not be referenced from a Sendable closure
      print(message.track.caption)
    }
  }
}

extension Notification.Name { static let trackChanged = Notification.Name("trackChanged") }

nonisolated func post(_ center: NotificationCenter) {
  // expect-error: main actor-isolated static property 'trackChanged' can not be referenced from a nonisolated context
  center.post(name: .trackChanged, object: nil)
}

struct Price: Codable { var crowns: Int }
struct PriceWanted: RelayedMessage { static let relaySubject: RelaySubject<Self> = "price" }

func ask(_ relay: Relay) async throws -> Price {
  // expect-error: main actor-isolated conformance of 'Price' to 'Decodable' cannot satisfy conformance requirement for a 'Sendable' type parameter
  try await relay.request(PriceWanted(), within: .seconds(1))
}
