import Campanile
import Metrics
import MetricsTestKit

struct OrderPlaced: MessageCenter.Message { var item: String }

func measure(_ center: MessageCenter) -> ObservationToken {
  center.events.observe { event in
    let type = [("type", "\(event.valueType)")]
    switch event.kind {
    case .posted: Counter(label: "posts", dimensions: type).increment()
    case .dropped: Counter(label: "drops", dimensions: type).increment()
    case .returned:
      Timer(label: "calls", dimensions: type).record(duration: event.time - event.began)
    default: break
    }
  }
}

@main struct Measured {
  static func main() {
    let metrics = TestMetrics()  // here the client of your monitoring
    MetricsSystem.bootstrap(metrics)
    let center = MessageCenter()
    let tokens = [measure(center), center.observe(OrderPlaced.self) { print("took \($0.item)") }]
    for item in ["rope", "bell"] { center.post(OrderPlaced(item: item)) }
    for counter in metrics.counters { print("\(counter.label): \(counter.totalValue)") }
    withExtendedLifetime(tokens) {}
  }
}
