import Campanile
import Dispatch
import InMemoryTracing
import Tracing

struct OrderPlaced: MessageCenter.Message { var item: String }

@main struct Spans {
  static func main() async throws {
    let tracer = InMemoryTracer()  // the client of a tracing system in a real program
    InstrumentationSystem.bootstrap(tracer)
    ContextCarrier(ServiceContext.$current).install()

    let center = MessageCenter()
    let queue = DispatchQueue(label: "mail")
    let mail = center.observe(OrderPlaced.self, on: .queue(queue)) { order in
      withSpan("confirm") { _ in print("confirmed \(order.item)") }
    }
    try await withSpan("request") { _ in
      try await center.postAndWait(OrderPlaced(item: "bell"))
    }
    let spans = Dictionary(uniqueKeysWithValues: tracer.finishedSpans.map { ($0.spanID, $0) })
    for span in tracer.finishedSpans {
      let parent = span.parentSpanID.flatMap { spans[$0] }
      print("\(span.operationName) is part of \(parent?.operationName ?? "nothing")")
    }
    withExtendedLifetime(mail) {}
  }
}
