import Campanile
import CampanileInspector
import Dispatch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// A program with 100,000 registrations of 100 types at 5,000 lines, to see what its page costs. It prints
// the address of the page, and reads commands from standard input: "tick" posts a hundred times a second
// from then on, "flood" for five seconds so much that there are a hundred thousand events a second,
// "burst" a hundred thousand times at once, "wave" once of each of the hundred types, "still" posts nothing more, and "quit" ends the program. With
// the argument "unwatched" there is neither a page nor a trace.

/// One of a hundred types.
struct Piece<Row: Sendable, Column: Sendable>: MessageCenter.Message {}

/// A message whose description is the time of its post.
struct Stamp: MessageCenter.Message, CustomStringConvertible {
  let description = "\(Date().timeIntervalSince1970)"
}

let parts: [any Sendable.Type] = [
  Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self,
  UInt32.self, UInt64.self,
]

func register<Row: Sendable, Column: Sendable>(
  _ row: Row.Type, _ column: Column.Type, at line: Int, in center: MessageCenter
) -> [ObservationToken] {
  (0..<20).map { _ in
    center.observe(Piece<Row, Column>.self, line: UInt(line)) { _ in }
  }
}

func poster<Row: Sendable, Column: Sendable>(
  _ row: Row.Type, _ column: Column.Type
) -> @Sendable (MessageCenter) -> Void {
  { $0.post(Piece<Row, Column>()) }
}

/// Posts a number of messages a second, evenly, while it is wanted.
func post(_ count: Int, to center: MessageCenter, while isWanted: () -> Bool) {
  let clock = ContinuousClock()
  var next = clock.now
  while isWanted() {
    for _ in 0..<(count / 100) { center.post(Stamp()) }
    next += .milliseconds(10)
    let pause = max(0, (next - clock.now) / .seconds(1))
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + pause)
  }
}

@main
enum Crowded {
  static func main() async throws {
    let center = MessageCenter(label: "crowd")
    let isWatched = CommandLine.arguments.dropFirst().first != "unwatched"
    let inspector = isWatched ? Inspector(of: center, values: true) : nil
    var tokens: [ObservationToken] = []
    var waves: [@Sendable (MessageCenter) -> Void] = []
    for line in 0..<5_000 {
      let (row, column) = (parts[line % 10], parts[line / 10 % 10])
      tokens += register(row, column, at: 10_000 + line, in: center)
      if line < 100 { waves.append(poster(row, column)) }
    }
    tokens.append(center.observe(Stamp.self) { _ in })
    let page = try await inspector?.serve()
    print(page.map { "\($0)" } ?? "no page")
    // A thread that waits for input must not be one on which tasks run.
    let (input, posting) = (DispatchQueue(label: "standard input"), DispatchQueue(label: "posting"))
    let isTicking = CurrentValue(false)
    await withCheckedContinuation { [waves] isDone in
      input.async {
        while let line = readLine(), line != "quit" {
          switch line {
          case "tick":
            isTicking.value = true
            posting.async { post(100, to: center) { isTicking.value } }
          case "still":
            isTicking.value = false
            posting.sync {}
          case "wave": for wave in waves { wave(center) }
          case "burst": for _ in 0..<100_000 { center.post(Stamp()) }
          default:
            let end = ContinuousClock.now + .seconds(5)
            post(25_000, to: center) { ContinuousClock.now < end }
          }
          print("played 0")
        }
        isTicking.value = false
        posting.sync {}
        isDone.resume()
      }
    }
    await page?.stop()
    withExtendedLifetime(tokens) {}
  }
}
