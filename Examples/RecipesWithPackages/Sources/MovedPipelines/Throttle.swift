import Campanile
import Dispatch
import OpenCombine
import OpenCombineDispatch

func throttleInCombine() async -> Screen {
  let screen = Screen()
  let levels = PassthroughSubject<Int, Never>()
  let cancellable =
    levels
    .throttle(for: .milliseconds(500), scheduler: DispatchQueue.main.ocombine, latest: true)
    .sink { screen.show($0) }
  levels.send(1)
  await screen.wait(for: 1)
  for level in 2...5 { levels.send(level) }
  await screen.wait(for: 2)
  cancellable.cancel()
  return screen
}

func throttleInCampanile() async throws -> Screen {
  let screen = Screen()
  let levels = Broadcaster<Int>()
  let token = levels.observeAsync(buffering: .newest(1)) { @MainActor level in
    screen.show(level)
    try await Task.sleep(for: .milliseconds(500))
  }
  levels.send(1)
  await screen.wait(for: 1)
  for level in 2...5 { levels.send(level) }
  await screen.wait(for: 2)
  token.cancel()
  return screen
}
