import AsyncAlgorithms
import Campanile
import OpenCombine

/// Finds something for long queries, and searches for ever for a short one.
struct Index: Sendable {
  let begun: Screen

  func find(_ query: String) async -> String {
    begun.show(query)
    if query.count < 3 { try? await Task.sleep(for: .seconds(3600)) }
    return "found \(query)"
  }
}

func switchToLatestInCombine() -> Screen {
  let screen = Screen()
  let short = PassthroughSubject<String, Never>()
  let queries = PassthroughSubject<AnyPublisher<String, Never>, Never>()
  let cancellable = queries.switchToLatest().sink { screen.show($0) }
  queries.send(short.eraseToAnyPublisher())
  queries.send(Just("found bell").eraseToAnyPublisher())
  short.send("found be")
  cancellable.cancel()
  return screen
}

func switchToLatestInCampanile() async throws -> Screen {
  let screen = Screen()
  let index = Index(begun: Screen())
  let queries = Broadcaster<String>()
  let answers = queries.values(buffering: .newest(1)).flatMapLatest { query in
    [query].async.map { await index.find($0) }
  }
  let task = Task { for await answer in answers { screen.show(answer) } }
  queries.send("be")
  await index.begun.wait(for: 1)
  queries.send("bell")
  await screen.wait(for: 1)
  queries.finish()
  await task.value
  return screen
}
