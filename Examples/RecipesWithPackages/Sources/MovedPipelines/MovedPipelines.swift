import Synchronization

// The rows of the guide "Moving a pipeline": each pipeline in Combine, and what replaces it. OpenCombine
// is in place of Combine. The program fails if the two deliver different values.

/// What a pipeline has delivered.
final class Screen: Sendable {
  private let values = Mutex<[String]>([])
  var shown: [String] { values.withLock { $0 } }

  /// The same values in alphabetical order, for a source that calls its subscribers in any order.
  var sorted: Screen {
    let screen = Screen()
    for value in shown.sorted() { screen.show(value) }
    return screen
  }

  func show(_ value: some Sendable) { values.withLock { $0.append("\(value)") } }

  /// Waits until a pipeline that runs elsewhere has delivered so many values.
  func wait(for count: Int) async {
    while shown.count < count { await Task.yield() }
  }
}

@main struct MovedPipelines {
  @MainActor static func main() async throws {
    try await compare("retry", retryInCombine(), retryInCampanile())
    try await compare("switchToLatest", switchToLatestInCombine(), switchToLatestInCampanile())
    try await compare("throttle", throttleInCombine(), throttleInCampanile())
    compare("scan", scanInCombine(), scanInCampanile())
    compare("assign", assignInCombine(), assignInCampanile())
    compare("share", shareInCombine().sorted, shareInCampanile())
    await compare("zip", zipInCombine(), zipInCampanile())
    compare("bridge", bridgeInCombine(), bridgeInCampanile())
  }

  static func compare(_ row: String, _ combine: Screen, _ campanile: Screen) {
    let (old, new) = (combine.shown, campanile.shown)
    precondition(old == new, "\(row): \(old) and \(new) are different")
    print("\(row): \(new.joined(separator: ", "))")
  }
}
