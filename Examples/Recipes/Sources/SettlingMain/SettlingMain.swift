import Campanile

struct NameTyped: MessageCenter.Message { var name: String }
struct TitleChanged: MessageCenter.Message { var title: String }
struct MainReached: MessageCenter.Message {}

@MainActor func settleMain(_ center: MessageCenter) async throws {
  let marker = center.observe(MainReached.self, on: .main) { _ in }
  repeat {
    try await center.postAndWait(MainReached())
  } while Delivery.mainQueue.waitingCount > 0
  withExtendedLifetime(marker) {}
}

@main struct SettlingMain {
  @MainActor static func main() async throws {
    let center = MessageCenter()
    let tokens = [
      center.observe(NameTyped.self, on: .main) { typed in
        center.post(TitleChanged(title: "Hello, \(typed.name)"))
      },
      center.observe(TitleChanged.self, on: .main) { print($0.title) },
    ]
    center.post(NameTyped(name: "Anna"))
    print("the post has returned")
    try await settleMain(center)
    print("main has settled")
    withExtendedLifetime(tokens) {}
  }
}
