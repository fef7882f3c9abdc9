import Campanile
import OpenCombine

func bridgeInCombine() -> Screen {
  let screen = Screen()
  let oldLevels = PassthroughSubject<Int, Never>()
  let cancellable = oldLevels.sink { screen.show($0) }
  for level in [5, 6] { oldLevels.send(level) }
  cancellable.cancel()
  return screen
}

@MainActor
final class Meter {
  let levels = Broadcaster<Int>()
  let oldLevels = PassthroughSubject<Int, Never>()

  init() {
    levels.observe(owner: self, on: .main) { $0.oldLevels.send($1) }
  }
}

@MainActor
func bridgeInCampanile() -> Screen {
  let screen = Screen()
  let oldLevels = PassthroughSubject<Int, Never>()
  let levels = Broadcaster<Int>()
  let bridge = oldLevels.sink { levels.send($0) }
  let token = levels.observe { screen.show($0) }
  oldLevels.send(5)

  let meter = Meter()
  let cancellable = meter.oldLevels.sink { screen.show($0) }
  meter.levels.send(6)
  for cancellable in [bridge, cancellable] { cancellable.cancel() }
  withExtendedLifetime(token) {}
  return screen
}
