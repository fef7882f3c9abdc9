// The example of the guide of this name.
import Campanile
import CampanileRelay

struct Rung: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "tower.rung"
  var hour: Int
}

struct WhatTime: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "tower.time"
}

func listen() async {
  let center = MessageCenter()
  let relay = Relay(.host("tower"), name: "listener")
  relay.carry(Rung.self, in: center)
  let events = relay.events.observe { print($0) }
  let answers = relay.answer(WhatTime.self) { _ in "seven" }
  for await rung in center.messages(of: Rung.self).values() {
    print("The bell rings: \(rung.hour)")
  }
  withExtendedLifetime((relay, events, answers)) {}
}

func ring() async throws {
  let center = MessageCenter()
  let relay = Relay(.host("tower"), name: "ringer")
  relay.carry(Rung.self, in: center)
  try await relay.flush()
  print("Listeners:", relay.peers.value.map(\.name))
  do {
    let time = try await relay.request(WhatTime(), as: String.self, within: .seconds(1))
    print("It is", time)
  } catch let error as RelayError {
    print(error)
  }
  center.post(Rung(hour: 7))
  await relay.drain()
}

@main
struct Tower {
  static func main() async throws {
    if CommandLine.arguments.contains("ring") { try await ring() } else { await listen() }
  }
}
