import AsyncAlgorithms
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@main struct Merged {
  static func main() async {
    let center = MessageCenter()
    let volume = CurrentValue(5)
    let lines = merge(
      center.messages(of: TrackChanged.self).values().map { "track \($0.title)" },
      volume.values(options: .initial).map { "volume \($0)" })
    async let printing: Void = {
      for await line in lines { print(line) }
    }()
    center.post(TrackChanged(title: "Aria"))
    volume.value = 6
    center.finish()
    volume.finish()
    await printing
  }
}
