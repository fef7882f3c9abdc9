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

  // The values go to the new source, and from there to those that still subscribe to the old one.
  let meter = Meter()
  let forwarding = levels.observe(on: .main) { meter.levels.send($0) }
  let cancellable = meter.oldLevels.sink { screen.show($0) }
  for level in [5, 6] { oldLevels.send(level) }
  for cancellable in [bridge, cancellable] { cancellable.cancel() }
  withExtendedLifetime(forwarding) {}
  return screen
}
