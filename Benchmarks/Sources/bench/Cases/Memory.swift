import Campanile
import Foundation
import OpenCombine

/// What an observation takes, beyond what its closure captured.
///
/// Every contender keeps what ends its observations, a word each, in an array.
enum Memory {
  static var cases: [Case] {
    let subjects = 100_000
    return [
      Case(
        name: "register 100,000 observers",
        contenders: [
          center, notificationCenter, typed, passthrough, dictionary, contexts,
        ],
        kind: .memory(beyond: contexts.name), fixedCount: 100_000, maximalRounds: 3),
      Case(
        name: "register 100,000 observers with owners", contenders: [owners, contexts],
        kind: .memory(beyond: contexts.name), fixedCount: 100_000, maximalRounds: 3),
      Case(
        name: "register 1 observer of each of \(number: subjects) subjects",
        contenders: [
          centerSubjects(subjects), notificationCenterSubjects(subjects),
          dictionarySubjects(subjects), contexts,
        ],
        kind: .memory(beyond: contexts.name), fixedCount: subjects, maximalRounds: 3),
    ]
  }

  /// As large as the context of a closure that captured a sink.
  private final class Context {
    let sink: Sink
    init(_ sink: Sink) { self.sink = sink }
  }

  private static func array<Element>(_ count: Int, _ element: (Int) -> Element) -> [Element] {
    var array: [Element] = []
    array.reserveCapacity(count)
    for index in 0..<count { array.append(element(index)) }
    return array
  }

  private static var contexts: Contender {
    Contender("contexts alone") {
      let sink = Sink()
      return .build { count in array(count) { _ in Context(sink) } }
    }
  }

  private static var center: Contender {
    Contender(Contender.ours) {
      let sink = Sink()
      return .build { count in
        let center = MessageCenter()
        return (center, array(count) { _ in center.observe(Message8.self) { sink.add($0.value) } })
      }
    }
  }

  private static var owners: Contender {
    Contender(Contender.ours) {
      let sink = Sink()
      let owners = (0..<100_000).map { _ in Owner(sink) }
      return .build { count in
        let center = MessageCenter()
        // The registrations end with their owners, and nobody keeps anything: a word each all the
        // same, for the comparison.
        let kept = array(count) { index in
          center.observe(Message8.self, owner: owners[index]) { [sink] in
            sink.add($1.value)
          }
          return 0
        }
        return (center, kept)
      }
    }
  }

  private static func centerSubjects(_ count: Int) -> Contender {
    Contender(Contender.ours) {
      let sink = Sink()
      let subjects = (0..<count).map { _ in Subject() }
      return .build { count in
        let center = MessageCenter()
        let tokens = array(count) { index in
          center.messages(of: SubjectMessage.self, about: subjects[index]).observe {
            sink.add($0.value)
          }
        }
        return (center, tokens)
      }
    }
  }

  private static var notificationCenter: Contender {
    Contender("NotificationCenter") {
      let sink = Sink()
      return .build { count in
        let center = NotificationCenter()
        let observers = array(count) { _ -> AnyObject in
          center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
        }
        return (center, observers)
      }
    }
  }

  private static func notificationCenterSubjects(_ count: Int) -> Contender {
    Contender("NotificationCenter") {
      let sink = Sink()
      let subjects = (0..<count).map { _ in Subject() }
      return .build { count in
        let center = NotificationCenter()
        let observers = array(count) { index -> AnyObject in
          center.addObserver(forName: .measured, object: subjects[index], queue: nil) { _ in
            sink.add(1)
          }
        }
        return (center, observers)
      }
    }
  }

  private static var typed: Contender {
    Contender("NotificationCenter, typed") {
      let sink = Sink()
      return .build { count in
        let center = NotificationCenter()
        let tokens = array(count) { _ in
          center.addObserver(for: FoundationMessage.self) { sink.add($0.value) }
        }
        return (center, tokens)
      }
    }
  }

  private static var passthrough: Contender {
    Contender("PassthroughSubject") {
      let sink = Sink()
      return .build { count in
        let subject = PassthroughSubject<Message8, Never>()
        return (subject, array(count) { _ in subject.sink { sink.add($0.value) } })
      }
    }
  }

  private static var dictionary: Contender {
    Contender("dictionary") {
      let sink = Sink()
      return .build { count in
        let center = MutexDictionary<ObjectIdentifier, Message8>()
        let key = ObjectIdentifier(Message8.self)
        return (center, array(count) { _ in center.observe(key) { sink.add($0.value) } })
      }
    }
  }

  private static func dictionarySubjects(_ count: Int) -> Contender {
    Contender("dictionary") {
      let sink = Sink()
      let subjects = (0..<count).map { _ in Subject() }
      return .build { count in
        let center = MutexDictionary<ObjectIdentifier, SubjectMessage>()
        let ids = array(count) { index in
          center.observe(ObjectIdentifier(subjects[index])) { sink.add($0.value) }
        }
        return (center, ids)
      }
    }
  }
}
