import Campanile

struct PhotoTaken: MessageCenter.Message { var name: String }
struct NoConnection: Error {}

func retrying<Result>(_ times: Int, _ body: () async throws -> Result) async throws -> Result {
  for attempt in 1..<times {
    do { return try await body() } catch {}
    try await Task.sleep(for: .milliseconds(50 << attempt))
  }
  return try await body()
}

@main struct Retried {
  static func main() async throws {
    let center = MessageCenter()
    let photos = center.messages(of: PhotoTaken.self).observeAsync { photo in
      var attempt = 0
      try await retrying(4) {
        attempt += 1
        if attempt < 3 { throw NoConnection() }
        print("uploaded \(photo.name) at attempt \(attempt)")
      }
    }
    try await center.postAndWait(PhotoTaken(name: "bell.jpg"))
    withExtendedLifetime(photos) {}
  }
}
