// expect-error: risks causing data races
import CampanileKVO
import Observation

final class Log {}

func share(_ kvo: KVOController<Log>) {
  Task.detached { kvo.unobserveAll() }
}
