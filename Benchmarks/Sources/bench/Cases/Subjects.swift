import Campanile
import Foundation

/// Many subjects of one message type, one observer each; which one comes next is random.
enum Subjects {
  static var cases: [Case] {
    [1_000, 1_000_000].flatMap { count in
      [
        Case(
          name: "post about one of \(number: count) subjects",
          contenders: [
            post(count), notificationCenterPost(count), typedPost(count), dictionaryPost(count),
          ]),
        Case(
          name: "observe one of \(number: count) subjects and cancel",
          contenders: [
            observe(count), notificationCenterObserve(count), dictionaryObserve(count),
          ]),
      ]
    }
  }

  /// Subjects, and the random order in which they are taken.
  private struct Choice {
    let subjects: [Subject]
    private let order: [Int]

    init(_ count: Int) {
      subjects = (0..<count).map { _ in Subject() }
      order = Array(shuffled: count)
    }

    @inline(__always)
    subscript(_ position: Int) -> Subject { subjects[order[position % order.count]] }
  }

  // MARK: Campanile

  private static func prepared(_ choice: Choice) -> (MessageCenter, [ObservationToken]) {
    let center = MessageCenter()
    let sink = Sink()
    let tokens = choice.subjects.map { subject in
      center.observe(SubjectMessage.self, about: subject) { sink.add($0.value) }
    }
    return (center, tokens)
  }

  private static func post(_ count: Int) -> Contender {
    Contender(Contender.ours) {
      let choice = Choice(count)
      let (center, tokens) = prepared(choice)
      return .loop { iterations in
        for value in 0..<iterations {
          center.post(SubjectMessage(value), about: choice[value])
        }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  private static func observe(_ count: Int) -> Contender {
    Contender(Contender.ours) {
      let choice = Choice(count)
      let (center, tokens) = prepared(choice)
      let sink = Sink()
      return .loop { iterations in
        for value in 0..<iterations {
          let token = center.observe(SubjectMessage.self, about: choice[value]) {
            sink.add($0.value)
          }
          token.cancel()
        }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  // MARK: Foundation

  private static func preparedFoundation(_ choice: Choice)
    -> (NotificationCenter, [any NSObjectProtocol])
  {
    let center = NotificationCenter()
    let sink = Sink()
    let observers = choice.subjects.map { subject in
      center.addObserver(forName: .measured, object: subject, queue: nil) { _ in sink.add(1) }
    }
    return (center, observers)
  }

  private static func notificationCenterPost(_ count: Int) -> Contender {
    Contender("NotificationCenter") {
      let choice = Choice(count)
      let (center, observers) = preparedFoundation(choice)
      return .loop { iterations in
        for value in 0..<iterations { center.post(name: .measured, object: choice[value]) }
        withExtendedLifetime(observers) {}
      }
    }
  }

  private static func notificationCenterObserve(_ count: Int) -> Contender {
    Contender("NotificationCenter") {
      let choice = Choice(count)
      let (center, observers) = preparedFoundation(choice)
      let sink = Sink()
      return .loop { iterations in
        for value in 0..<iterations {
          let observer = center.addObserver(
            forName: .measured, object: choice[value], queue: nil
          ) { _ in sink.add(1) }
          center.removeObserver(observer)
        }
        withExtendedLifetime(observers) {}
      }
    }
  }

  private static func typedPost(_ count: Int) -> Contender {
    Contender("NotificationCenter, typed") {
      let choice = Choice(count)
      let center = NotificationCenter()
      let sink = Sink()
      let tokens = choice.subjects.map { subject in
        center.addObserver(of: subject, for: FoundationMessage.self) { sink.add($0.value) }
      }
      return .loop { iterations in
        MainActor.assumeIsolated {
          for value in 0..<iterations {
            center.post(FoundationMessage(value: value), subject: choice[value])
          }
        }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  // MARK: The dictionary

  private static func preparedDictionary(_ choice: Choice)
    -> MutexDictionary<ObjectIdentifier, SubjectMessage>
  {
    let center = MutexDictionary<ObjectIdentifier, SubjectMessage>()
    let sink = Sink()
    for subject in choice.subjects {
      _ = center.observe(ObjectIdentifier(subject)) { sink.add($0.value) }
    }
    return center
  }

  private static func dictionaryPost(_ count: Int) -> Contender {
    Contender("dictionary") {
      let choice = Choice(count)
      let center = preparedDictionary(choice)
      return .loop { iterations in
        for value in 0..<iterations {
          center.post(SubjectMessage(value), ObjectIdentifier(choice[value]))
        }
      }
    }
  }

  private static func dictionaryObserve(_ count: Int) -> Contender {
    Contender("dictionary") {
      let choice = Choice(count)
      let center = preparedDictionary(choice)
      let sink = Sink()
      return .loop { iterations in
        for value in 0..<iterations {
          let key = ObjectIdentifier(choice[value])
          center.remove(center.observe(key) { sink.add($0.value) }, key)
        }
      }
    }
  }
}
