import Campanile

struct SignedIn: MessageCenter.Message { var name: String }

actor Greeter {
  init(_ center: MessageCenter) {
    center.latest(of: SignedIn.self).observe(on: self, .initial) { _, change in
      if let message = change.new { print("hello, \(message.name)") }
    }
  }
}

@main struct StartingLate {
  static func main() async throws {
    let center = MessageCenter()
    _ = center.latest(of: SignedIn.self)  // remember from here on

    center.post(SignedIn(name: "Anna"))
    let greeter = Greeter(center)
    try await center.postAndWait(SignedIn(name: "Johann"))
    withExtendedLifetime(greeter) {}
  }
}
