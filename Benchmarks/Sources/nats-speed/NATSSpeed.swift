import Foundation

/// How fast a relay on NATS is beside libnats, the client in C: at one server, in one process, in
/// turns.
@main
enum NATSSpeed {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard 3...4 ~= arguments.count, let count = Int(arguments[2]), count > 1 else {
      let kinds = "publish | numbered | receive | store | 'store once' | prepared"
      print("usage: nats-speed URL MESSAGES [\(kinds)]")
      exit(64)
    }
    let speed = Speed(url: arguments[1], count: count)
    print(
      "Thousands of messages of \(speed.payload.count) bytes in a second; medians of five rounds.")
    print("")
    print("| what | relay | libnats | ratio |")
    print("|---|---|---|---|")
    // In the stream the relay is first, and creates it.
    let all = [
      ("publish", speed.publish, speed.publishByLibnats),
      // As the relay does it: each message has a number in a header.
      ("numbered", speed.publish, speed.publishWithHeader),
      ("receive", speed.receive, speed.receiveByLibnats),
      ("store", speed.store, speed.storeByLibnats),
      // As the relay does it: the server knows doubles.
      ("store once", speed.store, speed.storeWithIDs),
    ]
    func isAsked(_ what: String) -> Bool { arguments.count == 3 || arguments[3] == what }
    for (what, relay, libnats) in all where isAsked(what) {
      try await speed.compare(what, relay, libnats)
    }
    // What the server takes of a client that has nothing to do but to send.
    if isAsked("prepared") {
      print("")
      print("| frames written before | with that header | without | ratio |")
      print("|---|---|---|---|")
      try await speed.compare("publish", speed.sendWithHeader, speed.sendPrepared)
    }
  }
}
