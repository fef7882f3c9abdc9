import AsyncAlgorithms
import Campanile
import OpenCombine

func zipInCombine() -> Screen {
  let screen = Screen()
  let titles = PassthroughSubject<String, Never>()
  let covers = PassthroughSubject<String, Never>()
  let cancellable = titles.zip(covers).sink { screen.show("\($0) with \($1)") }
  titles.send("Aria")
  titles.send("Var. 1")
  covers.send("a bell")
  covers.send("a rope")
  cancellable.cancel()
  return screen
}

func zipInCampanile() async -> Screen {
  let screen = Screen()
  let titles = Broadcaster<String>()
  let covers = Broadcaster<String>()
  let pairs = zip(titles.values(), covers.values())
  let task = Task {
    for await (title, cover) in pairs { screen.show("\(title) with \(cover)") }
  }
  titles.send("Aria")
  titles.send("Var. 1")
  covers.send("a bell")
  covers.send("a rope")
  titles.finish()
  await task.value
  return screen
}
