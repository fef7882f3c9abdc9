// A process on a bus, which does what the lines of its input say and answers each with a line. It
// counts what it hears: whether each sender's numbers come in order, and without gaps.
//
//   member FOLDER BUS NAME [newest|oldest BYTES]

import Campanile
import CampanileRelay
import Dispatch
import Foundation

struct Count: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "count.\(\.sender)"
  var sender: String
  var number: Int
  var padding = ""

  // Its own bytes: what is tested here is how messages travel.
  func relayPayload() -> [UInt8] { Array("\(sender) \(number) \(padding)".utf8) }

  init(sender: String, number: Int, padding: String = "") {
    self.sender = sender
    self.number = number
    self.padding = padding
  }

  init(relayPayload: [UInt8], version: Int) throws {
    let parts = String(decoding: relayPayload, as: UTF8.self).split(separator: " ")
    (sender, number) = (String(parts[0]), Int(parts[1])!)
  }
}

struct Question: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "question"
  var asker: String
  var number: Int
}

struct Answer: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "answer"
  var asker: String
  var number: Int
}

/// What has been heard of one sender.
struct Heard: Sendable {
  var first = 0
  var last = 0
  var gaps = 0
  var disorders = 0
}

struct Counts: Sendable {
  var heard: [String: Heard] = [:]
  var lost: [String: Int] = [:]
  var answersBeforeQuestions = 0
  var questions: Set<String> = []
  var longestSilence = Duration.zero
  var last = ContinuousClock.now
}

let arguments = CommandLine.arguments
guard arguments.count >= 4 else {
  fatalError("usage: member FOLDER BUS NAME [newest|oldest BYTES]")
}
let (folder, bus, name) = (arguments[1], arguments[2], arguments[3])
let buffering: RelayBuffering =
  arguments.count < 6
  ? .newest()
  : arguments[4] == "oldest"
    ? .oldest(bytes: Int(arguments[5])!) : .newest(bytes: Int(arguments[5])!)

let center = MessageCenter()
let relay = Relay(.host(bus, in: folder), name: name, buffering: buffering)
let counts = Locked(Counts())
let pace = Locked(0)
let delay = Locked(0)

var tokens = [
  center.observe(Count.self) { count in
    if count.sender == name { return }
    let microseconds = delay.withLock { $0 }
    if microseconds > 0 { waste(microseconds) }
    counts.withLock { counts in
      let now = ContinuousClock.now
      counts.longestSilence = max(counts.longestSilence, now - counts.last)
      counts.last = now
      var heard = counts.heard[count.sender] ?? Heard()
      if heard.first == 0 {
        heard.first = count.number
      } else if count.number <= heard.last {
        heard.disorders += 1
      } else {
        heard.gaps += count.number - heard.last - 1
      }
      heard.last = max(heard.last, count.number)
      counts.heard[count.sender] = heard
    }
  },
  center.observe(Question.self) { question in
    counts.withLock { _ = $0.questions.insert("\(question.asker) \(question.number)") }
    if question.asker != name && name.hasPrefix("answerer") {
      center.post(Answer(asker: question.asker, number: question.number))
    }
  },
  center.observe(Answer.self) { answer in
    counts.withLock { counts in
      if !counts.questions.contains("\(answer.asker) \(answer.number)") {
        counts.answersBeforeQuestions += 1
      }
    }
  },
  relay.events.observe { event in
    counts.withLock { counts in
      let key = event.kind == .lost ? "lost" : "\(event.kind)"
      counts.lost[key, default: 0] += event.count ?? 1_000_000_000
    }
    if event.kind == .unavailable { say("trouble \(event.reason)") }
  },
]
relay.carry(Question.self, in: center)
relay.carry(Answer.self, in: center)

/// Uses up time.
@Sendable func waste(_ microseconds: Int) {
  let end = ContinuousClock.now + .microseconds(microseconds)
  while ContinuousClock.now < end {}
}

let output = DispatchQueue(label: "output")
@Sendable func say(_ line: String) {
  output.sync { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

let posting = DispatchQueue(label: "posting")
let next = Locked(0)

@Sendable func post(_ padding: String = "") {
  let number = next.withLock {
    $0 += 1
    return $0
  }
  center.post(Count(sender: name, number: number, padding: padding))
}

@Sendable func keepPosting() {
  posting.async {
    let microseconds = pace.withLock { $0 }
    if microseconds == 0 { return }
    post()
    waste(microseconds)
    keepPosting()
  }
}

while let line = readLine() {
  let words = line.split(separator: " ").map(String.init)
  switch words.first {
  case "carry":
    relay.carry(
      Count.self, in: center,
      words[1] == "in" ? .inward : words[1] == "out" ? .outward : .bothWays)
    say("carried")
  case "post":
    // How many, and how long.
    let padding = String(repeating: "x", count: words.count > 2 ? Int(words[2])! : 0)
    for _ in 0..<Int(words[1])! { post(padding) }
    say("posted \(next.withLock { $0 })")
  case "ask":
    for number in 1...Int(words[1])! { center.post(Question(asker: name, number: number)) }
    say("asked")
  case "start":
    pace.withLock { $0 = Int(words[1])! }
    keepPosting()
    say("started")
  case "stop":
    pace.withLock { $0 = 0 }
    posting.sync {}
    say("stopped \(next.withLock { $0 })")
  case "slow":
    delay.withLock { $0 = Int(words[1])! }
    say("slow")
  case "flush":
    try await relay.flush()
    say("flushed")
  case "reset":
    counts.withLock { counts in
      counts.longestSilence = .zero
      counts.last = .now
    }
    say("reset")
  case "peers":
    let peers = relay.peers.value
    let hub = peers.first { $0.isHub }?.name ?? name
    say("peers \(hub) \(peers.map(\.name).sorted().joined(separator: ","))")
  case "report":
    let heard = counts.withLock { $0 }
    let silence = Int(heard.longestSilence / .milliseconds(1))
    var parts = [
      "report", "silence=\(silence)", "lost=\(heard.lost["lost"] ?? 0)",
      "early=\(heard.answersBeforeQuestions)", "questions=\(heard.questions.count)",
    ]
    for (sender, one) in heard.heard.sorted(by: { $0.key < $1.key }) {
      parts.append("\(sender)=\(one.first)-\(one.last),\(one.gaps),\(one.disorders)")
    }
    say(parts.joined(separator: " "))
  default: say("what?")
  }
}
withExtendedLifetime(tokens) {}
