import Campanile
import Foundation
import OpenCombine

/// Beginning and ending one observation, among those that live.
enum Observing {
  static var cases: [Case] {
    [10, 1_000, 100_000, 1_000_000].map { live in
      Case(
        name: "observe and cancel, \(number: live) live",
        contenders: [
          center(live, name: Contender.ours), notificationCenter(live), passthrough(live),
          dictionary(live),
        ])
    } + [broadcasterCase]
      + [16, 256].flatMap { [threadsCase(1_000, $0), threadsCase(1_000_000, $0)] }
  }

  private static var broadcasterCase: Case {
    let ours = Contender(Contender.ours) {
      let source = Broadcaster<Message8>()
      let sink = Sink()
      let tokens = (0..<1_000).map { _ in source.observe { sink.add($0.value) } }
      source.send(Message8(1))
      return .loop { iterations in
        for _ in 0..<iterations {
          let token = source.observe { sink.add($0.value) }
          token.cancel()
        }
        withExtendedLifetime(tokens) {}
      }
    }
    return Case(
      name: "observe a broadcaster and cancel, 1,000 live",
      contenders: [ours, passthrough(1_000), dictionary(1_000)])
  }

  /// Among so many live observers, after so many threads have posted that still exist.
  private static func threadsCase(_ live: Int, _ threads: Int) -> Case {
    Case(
      name: "observe and cancel, \(number: live) live, \(threads) threads posted",
      contenders: [
        center(live, threads: threads, name: Contender.ours),
        center(1_000, name: "1,000 live, one thread"),
      ])
  }

  private static func center(_ live: Int, threads: Int = 1, name: String) -> Contender {
    Contender(name) {
      let center = MessageCenter()
      let sink = Sink()
      func observe() -> ObservationToken { center.observe(Message8.self) { sink.add($0.value) } }
      var tokens = (0..<min(live, 1_000)).map { _ in observe() }
      center.post(Message8(1))
      let crowd = Crowd(threads - 1) { center.post(Message8(1)) }
      tokens += (tokens.count..<live).map { _ in observe() }
      return .loop { iterations in
        for _ in 0..<iterations {
          let token = center.observe(Message8.self) { sink.add($0.value) }
          token.cancel()
        }
        withExtendedLifetime((tokens, crowd)) {}
      }
    }
  }

  private static func notificationCenter(_ live: Int) -> Contender {
    Contender("NotificationCenter") {
      let center = NotificationCenter()
      let sink = Sink()
      let observers = (0..<live).map { _ in
        center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
      }
      return .loop { iterations in
        for _ in 0..<iterations {
          center.removeObserver(
            center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) })
        }
        withExtendedLifetime(observers) {}
      }
    }
  }

  private static func passthrough(_ live: Int) -> Contender {
    Contender("PassthroughSubject") {
      let subject = PassthroughSubject<Message8, Never>()
      let sink = Sink()
      let tokens = (0..<live).map { _ in subject.sink { sink.add($0.value) } }
      return .loop { iterations in
        for _ in 0..<iterations { subject.sink { sink.add($0.value) }.cancel() }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  private static func dictionary(_ live: Int) -> Contender {
    Contender("dictionary") {
      let center = MutexDictionary<ObjectIdentifier, Message8>()
      let sink = Sink()
      let key = ObjectIdentifier(Message8.self)
      for _ in 0..<live { _ = center.observe(key) { sink.add($0.value) } }
      return .loop { iterations in
        for _ in 0..<iterations { center.remove(center.observe(key) { sink.add($0.value) }, key) }
      }
    }
  }
}
