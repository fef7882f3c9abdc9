import Campanile

struct Progressed: MessageCenter.Message { var percent: Int }

@MainActor final class ProgressBar {
  private(set) var percent = 0
  private(set) var drawings = 0

  init(_ center: MessageCenter) {
    let progress = center.messages(of: Progressed.self)
    progress.observeAsync(owner: self, buffering: .newest(1)) { @MainActor bar, message in
      bar.percent = message.percent
      bar.drawings += 1
      try await Task.sleep(for: .milliseconds(33))
    }
  }
}

@main struct Progress {
  @MainActor static func main() async throws {
    let center = MessageCenter()
    let bar = ProgressBar(center)
    for step in 0..<1000 {
      center.post(Progressed(percent: step / 10))
      try await Task.sleep(for: .milliseconds(1))
    }
    try await center.postAndWait(Progressed(percent: 100))
    print("\(bar.percent) %, after 1001 messages and \(bar.drawings) drawings")
  }
}
