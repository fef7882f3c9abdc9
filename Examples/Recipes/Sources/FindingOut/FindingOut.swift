import Campanile
import CampanileInspector

struct TitleChanged: MessageCenter.Message { var title: String }

func playNext(_ center: MessageCenter) {
  center.post(TitleChanged(title: "Aria"))
}

func shuffle(_ center: MessageCenter) {
  for title in ["Var. 1", "Var. 2"] { center.post(TitleChanged(title: title)) }
}

@main struct FindingOut {
  static func main() {
    let center = MessageCenter()
    let quick = center.observe(TitleChanged.self) { _ in }
    let slow = center.observe(TitleChanged.self) { _ in
      let end = ContinuousClock.now + .milliseconds(20)
      while ContinuousClock.now < end {}
    }
    let trace = Trace(of: center)
    playNext(center)
    shuffle(center)
    print(trace.posters(of: TitleChanged.self))
    print(trace.slowest(1))
    withExtendedLifetime((quick, slow)) {}
  }
}
