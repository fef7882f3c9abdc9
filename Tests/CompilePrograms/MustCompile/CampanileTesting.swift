// The example of the article of this name.
import Campanile
import CampanileTesting
import Testing

nonisolated struct TrackChanged: MessageCenter.Message, Equatable { var title: String }

@Test func titles() async throws {
  let center = MessageCenter()
  let titles = Recorder(observing: TrackChanged.self, in: center)
  center.post(TrackChanged(title: "Aria"))
  try await titles.expect(TrackChanged(title: "Aria"))
  try titles.expectNothingMore()
}
