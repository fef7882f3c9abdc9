import Campanile
import OpenCombine

/// Setting a value that others follow.
enum Following {
  static var cases: [Case] { [0, 1, 10].map(set) }

  private static func set(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let state = CurrentValue(0)
      let sink = Sink()
      let tokens = (0..<count).map { _ in state.observe { sink.add($0) } }
      return .loop { iterations in
        for value in 0..<iterations { state.value = value }
        withExtendedLifetime(tokens) {}
      }
    }
    let subject = Contender("CurrentValueSubject") {
      let state = CurrentValueSubject<Int, Never>(0)
      let sink = Sink()
      let tokens = (0..<count).map { _ in state.sink { sink.add($0) } }
      return .loop { iterations in
        for value in 0..<iterations { state.send(value) }
        withExtendedLifetime(tokens) {}
      }
    }
    let bare = Contender("B") {
      var observers: [(Int) -> Void] = []
      let sink = Sink()
      let state = Sink()
      for _ in 0..<count { observers.append { sink.add($0) } }
      let told = opaque(observers)
      return .loop { iterations in
        for value in 0..<iterations {
          state.add(value)
          BareLoop.send(value, to: told)
        }
      }
    }
    return Case(
      name: "set a value with \(count, "follower")", contenders: [ours, subject, bare])
  }
}
