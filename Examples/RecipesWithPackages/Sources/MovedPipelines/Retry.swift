import Campanile
import OpenCombine
import Synchronization

struct NoConnection: Error {}

/// Fails at the first two attempts.
final class Uploader: Sendable {
  private let attempts = Atomic<Int>(0)

  func upload(_ photo: String) throws -> String {
    let attempt = attempts.wrappingAdd(1, ordering: .relaxed).newValue
    if attempt < 3 { throw NoConnection() }
    return "\(photo) at attempt \(attempt)"
  }
}

func retryInCombine() -> Screen {
  let screen = Screen()
  let uploader = Uploader()
  let photos = PassthroughSubject<String, Never>()
  let cancellable =
    photos
    .flatMap { photo in
      Deferred { Result { try uploader.upload(photo) }.publisher }.retry(2)
    }
    .sink(receiveCompletion: { _ in }) { screen.show($0) }
  photos.send("bell")
  cancellable.cancel()
  return screen
}

func retrying<Result>(_ times: Int, _ body: () async throws -> Result) async throws -> Result {
  for _ in 1..<times {
    do { return try await body() } catch { try Task.checkCancellation() }
  }
  return try await body()
}

func retryInCampanile() async throws -> Screen {
  let screen = Screen()
  let uploader = Uploader()
  let photos = Broadcaster<String>()
  photos.observeAsync(owner: uploader) { uploader, photo in
    screen.show(try await retrying(3) { try uploader.upload(photo) })
  }
  try await photos.sendAndWait("bell")
  withExtendedLifetime(uploader) {}
  return screen
}
