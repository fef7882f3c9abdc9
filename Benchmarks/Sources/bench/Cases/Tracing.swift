import Campanile
import CampanileInspector

/// A post to one observer, which is four events, while somebody looks.
enum Tracing {
  static var cases: [Case] {
    var watched = Case(
      name: "post to 1 observer, traced",
      contenders: [
        contender("no trace") { _ in nil },
        contender("a trace that has ended") { center in
          Trace(of: center).stop()
          return nil
        },
        contender("an observer of the events") { $0.events.observe { _ in } },
        contender("a trace without call stacks") { Trace(of: $0, callers: false) },
        contender("a trace") { Trace(of: $0) },
      ])
    watched.notes = [
      Case.Note(
        text: "a trace that has ended over none", numerator: "a trace that has ended",
        denominator: "no trace")
    ]
    return [watched]
  }

  private static func contender(
    _ name: String, _ look: @escaping (MessageCenter) -> (any Sendable)?
  ) -> Contender {
    Contender(name) {
      let center = MessageCenter()
      let sink = Sink()
      let token = center.observe(Message8.self) { sink.add($0.value) }
      let looker = look(center)
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value)) }
        withExtendedLifetime((token, looker)) {}
      }
    }
  }

  static var instructionCases: [InstructionCase] {
    [
      InstructionCase(name: "post-1-once-traced", count: 5_000) { count in
        run(count) { Trace(of: $0, callers: false).stop() }
      },
      InstructionCase(name: "post-1-traced", count: 1_000) { count in
        run(count) { Trace(of: $0, last: 1_000, callers: false) }
      },
    ]
  }

  private static func run<Looker>(_ count: Int, _ look: (MessageCenter) -> Looker) {
    let center = MessageCenter()
    let sink = Sink()
    let token = center.observe(Message8.self) { sink.add($0.value) }
    let looker = look(center)
    for value in 0..<count { center.post(Message8(value)) }
    withExtendedLifetime((token, looker)) {}
  }
}
