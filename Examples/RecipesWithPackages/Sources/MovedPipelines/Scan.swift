import Campanile
import OpenCombine

func scanInCombine() -> Screen {
  let screen = Screen()
  let prices = PassthroughSubject<Int, Never>()
  let cancellable = prices.scan(0, +).sink { screen.show($0) }
  for price in [300, 20] { prices.send(price) }
  cancellable.cancel()
  return screen
}

func scanInCampanile() -> Screen {
  let screen = Screen()
  let prices = Broadcaster<Int>()
  let total = CurrentValue(0)
  let adding = prices.observe { price in total.update { $0 += price } }
  let showing = total.observe { screen.show($0) }
  for price in [300, 20] { prices.send(price) }
  withExtendedLifetime((adding, showing)) {}
  return screen
}
