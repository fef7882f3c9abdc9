import Campanile
import Foundation

/// A thousand message types: one for each choice of three digits.
struct Topic<A: Sendable, B: Sendable, C: Sendable>: Payload {
  var value: Int
  init(_ value: Int) { self.value = value }
}

/// Many message types in one center, one observer each.
enum Types {
  static var cases: [Case] {
    [
      Case(
        name: "post over 1,000 types, 1 observer each",
        contenders: [post, notificationCenterPost, dictionaryPost]),
      Case(
        name: "observe and cancel over 1,000 types, 1 live each",
        contenders: [observe, notificationCenterObserve, dictionaryObserve]),
    ]
  }

  private enum D0 {}
  private enum D1 {}
  private enum D2 {}
  private enum D3 {}
  private enum D4 {}
  private enum D5 {}
  private enum D6 {}
  private enum D7 {}
  private enum D8 {}
  private enum D9 {}

  private static let types: [any Payload.Type] = {
    let digits: [any Sendable.Type] = [
      D0.self, D1.self, D2.self, D3.self, D4.self, D5.self, D6.self, D7.self, D8.self, D9.self,
    ]
    func topic<A: Sendable, B: Sendable, C: Sendable>(
      _: A.Type, _: B.Type, _: C.Type
    ) -> any Payload.Type { Topic<A, B, C>.self }
    return digits.flatMap { a in
      digits.flatMap { b in digits.map { c in topic(a, b, c) } }
    }
  }()

  /// The operations on one type, which was chosen when the program ran.
  private struct Operations {
    let observe: () -> ObservationToken
    let post: (Int) -> Void

    init<M: Payload>(_ type: M.Type, _ center: MessageCenter, _ sink: Sink) {
      observe = { center.observe(M.self) { sink.add($0.value) } }
      post = { center.post(M($0)) }
    }
  }

  private static var post: Contender {
    Contender(Contender.ours) {
      let center = MessageCenter()
      let operations = types.map { Operations($0, center, Sink()) }
      let tokens = operations.map { $0.observe() }
      return .loop { iterations in
        for value in 0..<iterations { operations[value % operations.count].post(value) }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  private static var observe: Contender {
    Contender(Contender.ours) {
      let center = MessageCenter()
      let operations = types.map { Operations($0, center, Sink()) }
      let tokens = operations.map { $0.observe() }
      for operation in operations { operation.post(1) }
      return .loop { iterations in
        for value in 0..<iterations { operations[value % operations.count].observe().cancel() }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  private static let names = (0..<1_000).map { Notification.Name("topic\($0)") }

  private static func observers(_ center: NotificationCenter) -> [any NSObjectProtocol] {
    names.map { name in
      let sink = Sink()
      return center.addObserver(forName: name, object: nil, queue: nil) { _ in sink.add(1) }
    }
  }

  private static var notificationCenterPost: Contender {
    Contender("NotificationCenter") {
      let center = NotificationCenter()
      let observers = observers(center)
      return .loop { iterations in
        for value in 0..<iterations { center.post(name: names[value % names.count], object: nil) }
        withExtendedLifetime(observers) {}
      }
    }
  }

  private static var notificationCenterObserve: Contender {
    Contender("NotificationCenter") {
      let center = NotificationCenter()
      let observers = observers(center)
      let sink = Sink()
      return .loop { iterations in
        for value in 0..<iterations {
          let name = names[value % names.count]
          center.removeObserver(
            center.addObserver(forName: name, object: nil, queue: nil) { _ in sink.add(1) })
        }
        withExtendedLifetime(observers) {}
      }
    }
  }

  private static func dictionary(_ keys: [ObjectIdentifier])
    -> MutexDictionary<ObjectIdentifier, Message8>
  {
    let center = MutexDictionary<ObjectIdentifier, Message8>()
    for key in keys {
      let sink = Sink()
      _ = center.observe(key) { sink.add($0.value) }
    }
    return center
  }

  private static var dictionaryPost: Contender {
    Contender("dictionary") {
      let keys = types.map { ObjectIdentifier($0) }
      let center = dictionary(keys)
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value), keys[value % keys.count]) }
      }
    }
  }

  private static var dictionaryObserve: Contender {
    Contender("dictionary") {
      let keys = types.map { ObjectIdentifier($0) }
      let center = dictionary(keys)
      let sink = Sink()
      return .loop { iterations in
        for value in 0..<iterations {
          let key = keys[value % keys.count]
          center.remove(center.observe(key) { sink.add($0.value) }, key)
        }
      }
    }
  }
}
