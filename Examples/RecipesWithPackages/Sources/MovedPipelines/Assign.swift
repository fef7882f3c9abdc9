import Campanile
import OpenCombine

@MainActor
final class Label {
  let screen = Screen()
  var text = "" {
    didSet { screen.show(text) }
  }
}

@MainActor
func assignInCombine() -> Screen {
  let title = CurrentValueSubject<String, Never>("Aria")
  let label = Label()
  let cancellable = title.assign(to: \.text, on: label)
  title.send("Var. 1")
  cancellable.cancel()
  return label.screen
}

@MainActor
func assignInCampanile() -> Screen {
  let title = CurrentValue("Aria")
  let label = Label()
  title.observe(owner: label, on: .main, options: .initial) { $0.text = $1 }
  title.value = "Var. 1"
  return label.screen
}
