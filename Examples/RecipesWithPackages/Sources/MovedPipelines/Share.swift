import Campanile
import OpenCombine

func shareInCombine() -> Screen {
  let screen = Screen()
  func decode(_ name: String) -> String {
    screen.show("decodes \(name)")
    return name
  }
  let files = PassthroughSubject<String, Never>()
  let images = files.map(decode).share()
  let cancellables = ["detail", "grid"].map { view in
    images.sink { screen.show("\(view) shows \($0)") }
  }
  files.send("bell")
  for cancellable in cancellables { cancellable.cancel() }
  return screen
}

func shareInCampanile() -> Screen {
  let screen = Screen()
  @Sendable func decode(_ name: String) -> String {
    screen.show("decodes \(name)")
    return name
  }
  let files = Broadcaster<String>()
  let images = Broadcaster<String>()
  let decoding = files.map(decode).observe { images.send($0) }
  let tokens = ["detail", "grid"].map { view in
    images.observe { screen.show("\(view) shows \($0)") }
  }
  files.send("bell")
  withExtendedLifetime((decoding, tokens)) {}
  return screen
}
