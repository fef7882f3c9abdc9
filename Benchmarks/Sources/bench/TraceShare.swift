import ArgumentParser
import Campanile
import CampanileInspector
import Dispatch
import Foundation
import Synchronization

/// Prints which share of a core a trace takes of a program with 100,000 events a second: the table of
/// the results page.
///
/// It is the processor time of the process, less the time that it takes without a trace. Other
/// programs on the machine add little to it.
struct TraceShare: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trace-share",
    abstract: "Measures the share of a core that a trace takes at 100,000 events a second.")

  @Option(help: ArgumentHelp("Measure each for so long.", valueName: "seconds"))
  var seconds = 5

  @Option(help: ArgumentHelp("Fail if a trace takes more than this.", valueName: "percent"))
  var limit: Double?

  func run() throws {
    let looks: [(name: String, look: (MessageCenter) -> (any Sendable)?)] = [
      ("a trace that has ended", { Trace(of: $0).stop() }),
      ("a trace without call stacks", { Trace(of: $0, callers: false) }),
      ("a trace", { Trace(of: $0) }),
    ]
    let names = looks.map(\.name).joined(separator: " | ")
    Output.write("| what is posted, a second | without | \(names) |")
    Output.write("|---|---|---|---|---|")
    var highest = 0.0
    for flow in Flow.all {
      let rate = flow.eventsPerSecond / flow.eventsPerPost
      let without = share(of: flow) { _ in nil }
      let added = looks.map { max(0, share(of: flow, $0.look) - without) }
      highest = max(highest, added.max() ?? 0)
      let cells = ([without] + added).map { "\(Table.number($0)) %" }.joined(separator: " | ")
      Output.write("| \(number: Int(rate)) posts to \(flow.name) | \(cells) |")
    }
    if let limit, highest > limit {
      throw Failure("A trace took \(Table.number(highest)) % of a core, more than \(limit) %.")
    }
  }

  /// The percentage of a core that a flow takes.
  private func share(of flow: Flow, _ look: (MessageCenter) -> (any Sendable)?) -> Double {
    let center = MessageCenter()
    let tokens = flow.register(center)
    let looker = look(center)
    // A trace fills its memory first, and reads more call stacks in its first second than later.
    flow.post(to: center, for: 2)
    let start = Usage()
    flow.post(to: center, for: seconds)
    let end = Usage()
    withExtendedLifetime((tokens, looker)) {}
    return 100 * (end.seconds - start.seconds) / Double(seconds)
  }
}

/// Posts that make 100,000 events a second.
private struct Flow {
  let name: String
  let eventsPerSecond = 100_000.0
  let eventsPerPost: Double
  /// The number of functions that the call stack of a post has besides.
  let depth: Int
  let register: (MessageCenter) -> [ObservationToken]

  static var all: [Flow] {
    let queue = DispatchQueue(label: "observers")
    return [
      Flow("nobody") { _ in [] },
      Flow("1 observer") { observe($0, 1, on: .immediate) },
      Flow("1 observer, 40 functions deep", depth: 40) { observe($0, 1, on: .immediate) },
      Flow("10 observers") { observe($0, 10, on: .immediate) },
      Flow("1 observer on a queue") { observe($0, 1, on: .queue(queue)) },
    ]
  }

  private init(
    _ name: String, depth: Int = 0,
    register: @escaping (MessageCenter) -> [ObservationToken]
  ) {
    (self.name, self.depth, self.register) = (name, depth, register)
    let center = MessageCenter()
    let tokens = register(center)
    let (events, posts) = (EventCount(), 1_000)
    let counter = center.events.observe { _ in events.count.add(1, ordering: .relaxed) }
    for value in 0..<posts { center.post(Message8(value)) }
    // Deliveries to a queue have happened by then.
    Thread.sleep(forTimeInterval: 0.5)
    withExtendedLifetime((tokens, counter)) {}
    eventsPerPost = (Double(events.count.load(ordering: .relaxed)) / Double(posts)).rounded()
  }

  private final class EventCount: Sendable {
    let count = Atomic(0)
  }

  private static func observe(
    _ center: MessageCenter, _ count: Int, on delivery: Delivery
  ) -> [ObservationToken] {
    let sink = Sink()
    return (0..<count).map { _ in
      center.observe(Message8.self, on: delivery) { sink.add($0.value) }
    }
  }

  @inline(never)
  private func descend(_ levels: Int, _ body: () -> Void) {
    if levels == 0 { body() } else { descend(levels - 1, body) }
    // Not the last thing that the function does, so that it stays on the stack.
    blackHole(levels)
  }

  /// Posts evenly, some each ten milliseconds.
  func post(to center: MessageCenter, for seconds: Int) {
    let start = now()
    var posted = 0
    for step in 1...(100 * seconds) {
      let wanted = Int(Double(step) * eventsPerSecond / 100 / eventsPerPost)
      descend(depth) {
        while posted < wanted {
          center.post(Message8(posted))
          posted += 1
        }
      }
      let end = start + UInt64(step) * 10_000_000
      let time = now()
      if time < end { Thread.sleep(forTimeInterval: Double(end - time) / 1e9) }
    }
  }
}
