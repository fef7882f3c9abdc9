// A process on a bus, which does what the lines of its input say and answers each with a line. It
// counts what it hears: whether each sender's numbers come in order, and without gaps.
//
// HUB and MEMBERS are the tenths of a second that it waits for those that are silent.
//
//   member FOLDER BUS NAME [HUB MEMBERS [newest|oldest BYTES]]

import Campanile
import CampanileFoundation
import CampanileRelay
import Dispatch
import Foundation

let arguments = CommandLine.arguments
guard [4, 6, 8].contains(arguments.count) else {
  say("usage: member FOLDER BUS NAME [HUB MEMBERS [newest|oldest BYTES]]")
  exit(2)
}
let (folder, bus, name) = (arguments[1], arguments[2], arguments[3])
let silence =
  arguments.count < 6
  ? SilenceLimits()
  : SilenceLimits(ofHub: Int(arguments[4])!, ofMembers: Int(arguments[5])!)
let buffering: RelayBuffering =
  arguments.count < 8
  ? .newest()
  : arguments[6] == "oldest"
    ? .oldest(bytes: Int(arguments[7])!) : .newest(bytes: Int(arguments[7])!)

let center = MessageCenter()
var relay: Relay? = Relay(
  .host(bus, in: folder.isEmpty ? nil : folder, silence: silence), name: name,
  buffering: buffering)
let state = relay!.state
let counts = Locked(Counts())

/// The number of another one at which the observer is held, and what it waits for.
let heldNumber = Locked(0)
let (isHeld, isLetGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

@Sendable func hear(_ count: Count) {
  let isOwn = count.sender == name
  counts.withLock { $0.hear(count, isOwn: isOwn) }
  // At -1, each number holds it.
  if !isOwn && [-1, count.number].contains(heldNumber.withLock { $0 }) {
    isHeld.signal()
    isLetGo.wait()
  }
}

var tokens = [
  center.observe(Count.self) { hear($0) },
  center.observe(Odd.self) { hear($0.count) },
  relay!.events.observe { event in counts.withLock { $0.note(event) } },
]

/// Another bus, and what leads there.
var others: [any Sendable] = []

let posting = DispatchQueue(label: "posting")
let next = Locked(0)
/// The microseconds between posts.
let pace = Locked(0)
/// How many hundreds of posts have not been taken.
let flushing = Locked(0)

@Sendable func nextCount(_ padding: String = "") -> Count {
  let number = next.withLock {
    $0 += 1
    return $0
  }
  return Count(sender: name, number: number, padding: padding)
}

@Sendable func post(_ padding: String = "") {
  let count = nextCount(padding)
  if count.number % 2 == 0 { center.post(count) } else { center.post(Odd(count)) }
}

/// Posts at its pace, as long as others take it.
@Sendable func keepPosting(_ relay: Relay) {
  let microseconds = pace.withLock { $0 }
  if microseconds == 0 { return }
  if flushing.withLock({ $0 }) < 10 {
    post()
    if next.withLock({ $0 }) % 100 == 0 {
      flushing.withLock { $0 += 1 }
      Task {
        try await relay.flush()
        flushing.withLock { $0 -= 1 }
      }
    }
  }
  posting.asyncAfter(deadline: .now() + .microseconds(microseconds)) { keepPosting(relay) }
}

while let line = readLine() {
  let words = line.split(separator: " ").map(String.init)
  switch words.first {
  case "carry":
    let direction: Relay.Direction =
      words[1] == "in" ? .inward : words[1] == "out" ? .outward : .bothWays
    relay?.carry(Count.self, in: center, direction)
    relay?.carry(Odd.self, in: center, direction)
    say("carried")
  case "share":
    relay?.carry(Count.self, in: center, .inward, .oneOf(words[1]))
    relay?.carry(Odd.self, in: center, .inward, .oneOf(words[1]))
    say("shared")
  case "numbers": say("numbers \(counts.withLock { $0.numbers[words[1], default: []] })")
  case "joined":
    for await state in state.values(options: .initial) where state != .connecting {
      say("joined \(state)")
      break
    }
  case "bridge":
    // From the center over Foundation's to another one, which is on a bus of its own.
    let (foundation, second) = (NotificationCenter(), MessageCenter())
    let bridges = [center, second].map { NotificationBridge(between: $0, and: foundation) }
    for bridge in bridges { bridge.carry(Count.self) }
    let beyond = Relay(.host(words[1], in: folder, silence: silence), name: name)
    beyond.carry(Count.self, in: second)
    try await beyond.flush()
    others += [bridges, beyond]
    say("bridged")
  case "post":
    // How many, and how long.
    let padding = String(repeating: "x", count: words.count > 2 ? Int(words[2])! : 0)
    for _ in 0..<Int(words[1])! { post(padding) }
    say("posted \(next.withLock { $0 })")
  case "wait":
    try await center.postAndWait(nextCount())
    say("waited")
  case "start":
    pace.withLock { $0 = Int(words[1])! }
    if let relay { posting.sync { keepPosting(relay) } }
    say("started")
  case "stop":
    pace.withLock { $0 = 0 }
    posting.sync {}
    say("stopped \(next.withLock { $0 })")
  case "hold":
    heldNumber.withLock { $0 = Int(words[1])! }
    say("holding")
  case "held":
    isHeld.wait()
    say("held")
  case "letgo":
    isLetGo.signal()
    say("let go")
  case "end":
    switch words[1] {
    case "stopCarrying":
      relay?.stopCarrying(Count.self, in: center)
      relay?.stopCarrying(Odd.self, in: center)
    case "release": relay = nil
    default: relay?.cancel()
    }
    say("ended")
  case "over":
    for await state in state.values(options: .initial) where state == .ended { break }
    say("over")
  case "trouble":
    for await state in state.values(options: .initial) {
      guard case .unavailable(let reason) = state else { continue }
      say("trouble \(reason)")
      break
    }
  case "flush":
    try await relay?.flush()
    for case let beyond as Relay in others { try await beyond.flush() }
    say("flushed")
  case "reset":
    counts.withLock { ($0.longestSilence, $0.last) = (.zero, .now) }
    say("reset")
  case "peers":
    let peers = relay?.peers.value ?? []
    let hub = peers.first { $0.isHub }?.name ?? name
    say("peers \(hub) \(peers.map(\.name).sorted().joined(separator: ","))")
  case "report": say(counts.withLock { $0.report })
  case "events":
    let events = counts.withLock { $0.events }.sorted { $0.key < $1.key }
    say((["events"] + events.map { "\($0.value) \($0.key)" }).joined(separator: "|"))
  default: say("what?")
  }
}
withExtendedLifetime((tokens, others)) {}
