import Campanile
import CampanileRelay
import Dispatch
import Foundation

private let output = DispatchQueue(label: "output")

/// Writes a line, from any thread.
func say(_ line: String) {
  output.sync { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

/// What has been heard of one sender.
struct Heard: Sendable {
  var first = 0
  var last = 0
  var gaps = 0
  /// How many of the numbers that are missing are odd.
  var oddGaps = 0
  var disorders = 0
  var calls = 0
  /// The number after the last gap.
  var resumed = 0

  mutating func hear(_ number: Int) {
    calls += 1
    if first == 0 {
      first = number
    } else if number <= last {
      disorders += 1
    } else if number > last + 1 {
      gaps += number - last - 1
      oddGaps += number / 2 - (last + 1) / 2
      resumed = number
    }
    last = max(last, number)
  }
}

/// What a process has heard.
struct Counts: Sendable {
  var heard: [String: Heard] = [:]
  var numbers: [String: [Int]] = [:]
  /// What the relay has reported, without the numbers, and the numbers.
  var events: [String: Int] = [:]
  var lost = 0
  var longestSilence = Duration.zero
  var last = ContinuousClock.now

  mutating func hear(_ count: Count, isOwn: Bool) {
    heard[count.sender, default: Heard()].hear(count.number)
    numbers[count.sender, default: []].append(count.number)
    if isOwn { return }
    let now = ContinuousClock.now
    longestSilence = max(longestSilence, now - last)
    last = now
  }

  mutating func note(_ event: RelayEvent) {
    let parts = [
      "\(event.kind)", event.subject ?? "-", event.sender?.name ?? "-",
      event.version.map { "\($0)" } ?? "-", event.reason,
    ]
    // A number that nobody knows is none that a test expects.
    // One about a process is about no message.
    let count = event.kind == .refused ? max(1, event.count ?? 0) : event.count ?? 1_000_000_000
    events[parts.joined(separator: " "), default: 0] += count
    if event.kind == .lost { lost += count }
  }

  var report: String {
    let numbers = ["silence=\(Int(longestSilence / .microseconds(1)))", "lost=\(lost)"]
    let senders = heard.sorted { $0.key < $1.key }.map { sender, one in
      let numbers = [
        one.first, one.last, one.gaps, one.oddGaps, one.disorders, one.calls, one.resumed,
      ]
      return "\(sender)=\(numbers.map(String.init).joined(separator: ","))"
    }
    return (["report"] + numbers + senders).joined(separator: " ")
  }
}
