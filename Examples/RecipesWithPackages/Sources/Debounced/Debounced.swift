import AsyncAlgorithms
import Campanile

@main struct Debounced {
  static func main() async throws {
    let text = CurrentValue("")
    let settled = text.values(buffering: .newest(1)).debounce(for: .milliseconds(300))
    async let searching: Void = {
      for await text in settled { print("searching for \(text)") }
    }()
    for word in ["b", "be", "bell", "bell t", "bell tower"] {
      text.value = word
      if word == "bell" { try await Task.sleep(for: .seconds(1)) }
    }
    try await Task.sleep(for: .seconds(1))
    text.finish()
    await searching
  }
}
