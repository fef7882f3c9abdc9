import Campanile

struct SignedIn: MessageCenter.Message { var name: String }

@MainActor final class Greeter {
  init(_ center: MessageCenter) {
    center.latest(of: SignedIn.self).observe(owner: self, on: .main, options: .initial) {
      _, message in
      if let message { print("hello, \(message.name)") }
    }
  }
}

@main struct StartingLate {
  @MainActor static func main() {
    let center = MessageCenter()
    _ = center.latest(of: SignedIn.self)  // remember from here on

    center.post(SignedIn(name: "Anna"))
    let greeter = Greeter(center)
    center.post(SignedIn(name: "Johann"))
    withExtendedLifetime(greeter) {}
  }
}
