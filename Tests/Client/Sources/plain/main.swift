import Campanile
import CampanileKVO
import CampanileTesting
import Observation

struct Rung: MessageCenter.Message { var bell: String }

final class Bell: Observable {
  @Observed var strokes = 0
}

let center = MessageCenter()
let token = center.observe(Rung.self) { print($0.bell) }
center.post(Rung(bell: "heard"))
withExtendedLifetime(token) {}
let bell = Bell()
let strokes = bell.observe(\.strokes) { _, change in print(change.new) }
bell.strokes = 1
withExtendedLifetime(strokes) {}
let tower = MessageCenter()
let recorder = Recorder(observing: Rung.self, in: tower)
tower.post(Rung(bell: "recorded"))
print(try await recorder.next().bell)
