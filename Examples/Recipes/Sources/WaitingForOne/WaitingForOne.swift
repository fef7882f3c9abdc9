import Campanile

struct Failed: MessageCenter.Message { var file: String }

@main struct WaitingForOne {
  static func main() async throws {
    let center = MessageCenter()
    let failures = center.messages(of: Failed.self)
    let work = Task {
      try await Task.sleep(for: .milliseconds(50))
      center.post(Failed(file: "a.wav"))
    }
    print(try await failures.next(within: .seconds(10)).file)
    try await work.value
    do {
      print(try await failures.next(within: .milliseconds(50)).file)
    } catch {
      print(error)
    }
  }
}
