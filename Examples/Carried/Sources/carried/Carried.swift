import Campanile
import Dispatch
import Logging
import ServiceContextModule

// A server handles requests, and its observers log. Each line of the log has the identifier of the
// request that caused it. That holds wherever the observer runs: at once, on a queue, on an actor
// or in a task. One line at launch makes Campanile carry the service context to observers. The
// logger takes the identifier from the context.

struct OrderPlaced: MessageCenter.Message {
  var item: String
}

enum RequestID: ServiceContextKey {
  typealias Value = String
}

extension ServiceContext {
  var requestID: String? {
    get { self[RequestID.self] }
    set { self[RequestID.self] = newValue }
  }
}

actor Stock {
  private let log = Logger(label: "stock")
  func take(_ item: String) { log.info("one \(item) less") }
}

final class Mailer: Sendable {
  private let log = Logger(label: "mail")
  func confirm(_ item: String) async {
    await Task.yield()
    log.info("confirmed \(item)")
  }
}

@main struct Carried {
  static func main() async throws {
    LoggingSystem.bootstrap(
      { StreamLogHandler.standardOutput(label: $0, metadataProvider: $1) },
      metadataProvider: Logger.MetadataProvider {
        ServiceContext.current?.requestID.map { ["request": "\($0)"] } ?? [:]
      })
    // The line that this example is about.
    ContextCarrier(ServiceContext.$current).install()

    let center = MessageCenter()
    let (stock, mailer, log) = (Stock(), Mailer(), Logger(label: "orders"))
    let queue = DispatchQueue(label: "audit")
    center.observe(OrderPlaced.self, owner: mailer) { _, order in log.info("placed \(order.item)") }
    center.observe(OrderPlaced.self, owner: mailer, on: .queue(queue)) { _, order in
      log.info("audited \(order.item)")
    }
    center.observe(OrderPlaced.self, on: stock) { stock, order in stock.take(order.item) }
    center.messages(of: OrderPlaced.self).observeAsync(owner: mailer) { mailer, order in
      await mailer.confirm(order.item)
    }

    for (number, item) in ["bell", "rope"].enumerated() {
      var context = ServiceContext.topLevel
      context.requestID = "r\(number + 1)"
      try await ServiceContext.withValue(context) {
        try await center.postAndWait(OrderPlaced(item: item))
      }
    }
    withExtendedLifetime((stock, mailer)) {}
  }
}
