import Campanile
import Logging
import ServiceLifecycle

struct OrderPlaced: MessageCenter.Message { var item: String }

struct Warehouse: Service {
  let center = MessageCenter()

  func run() async {
    let orders = center.messages(of: OrderPlaced.self).values()
    for item in ["bell", "rope"] { center.post(OrderPlaced(item: item)) }
    await withGracefulShutdownHandler {
      for await order in orders {
        try? await Task.sleep(for: .seconds(1))
        print("packed \(order.item)")
      }
    } onGracefulShutdown: {
      center.finish()
    }
  }
}

@main struct ShuttingDown {
  static func main() async throws {
    let group = ServiceGroup(
      services: [Warehouse()], gracefulShutdownSignals: [.sigterm], logger: Logger(label: "shop"))
    try await group.run()
  }
}
