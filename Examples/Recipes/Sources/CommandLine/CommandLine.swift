import Campanile
import Dispatch

struct LineRead: MessageCenter.Message { var text: String }
struct InputEnded: MessageCenter.Message {}

@main struct Tool {
  @MainActor static func main() async throws {
    let center = MessageCenter()
    let lines = center.observe(LineRead.self, on: .main) { print("read \($0.text)") }
    let end = center.observe(InputEnded.self, on: .main) { _ in print("read everything") }

    let thread = DispatchQueue(label: "standard input")
    await withCheckedContinuation { isDone in
      thread.async {
        while let line = readLine() { center.post(LineRead(text: line)) }
        isDone.resume()
      }
    }
    try await center.postAndWait(InputEnded())
    withExtendedLifetime((lines, end)) {}
  }
}
