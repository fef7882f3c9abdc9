import Campanile
import Logging

struct OrderPlaced: MessageCenter.Message { var item: String }
struct OutOfStock: Error {}

@main struct Logged {
  static func main() {
    LoggingSystem.bootstrap { StreamLogHandler.standardOutput(label: $0) }
    let log = Logger(label: "shop")
    let center = MessageCenter()
    let failures = center.failures.observe { failure in
      log.error(
        "\(failure.error)",
        metadata: ["message": "\(failure.valueType)", "line": "\(failure.file):\(failure.line)"])
    }
    let orders = center.observe(OrderPlaced.self) { order in
      if order.item == "bell" { throw OutOfStock() }
      log.info("took \(order.item)")
    }
    for item in ["rope", "bell"] { center.post(OrderPlaced(item: item)) }
    withExtendedLifetime((failures, orders)) {}
  }
}
