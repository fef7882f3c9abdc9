import Campanile
import Foundation

/// Many subjects of one message type, one observer each; which one comes next is random.
enum Subjects {
  static var cases: [Case] {
    [1_000, 1_000_000].flatMap { count in
      // Two cases have the same fixtures, one after the other.
      let center = Kept(uses: 2) { Center(count) }
      let foundation = Kept(uses: 2) { Foundation(count) }
      let dictionary = Kept(uses: 2) { Dictionary(count) }
      return [
        Case(
          name: "post about one of \(number: count) subjects",
          contenders: [
            post(center), post(foundation), typedPost(count), post(dictionary),
          ]),
        Case(
          name: "observe one of \(number: count) subjects and cancel",
          contenders: [observe(center), observe(foundation), observe(dictionary)]),
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

  private struct Center {
    let choice: Choice
    let center = MessageCenter()
    let sink = Sink()
    let tokens: [ObservationToken]

    init(_ count: Int) {
      choice = Choice(count)
      tokens = choice.subjects.map { [center, sink] subject in
        center.messages(of: SubjectMessage.self, about: subject).observe { sink.add($0.value) }
      }
    }
  }

  private static func post(_ kept: Kept<Center>) -> Contender {
    Contender(Contender.ours) {
      let fixture = kept.use()
      let (center, choice) = (fixture.center, fixture.choice)
      return .loop { iterations in
        for value in 0..<iterations {
          center.post(SubjectMessage(value), about: choice[value])
        }
        withExtendedLifetime(fixture) {}
      }
    }
  }

  private static func observe(_ kept: Kept<Center>) -> Contender {
    Contender(Contender.ours) {
      let fixture = kept.use()
      let (center, choice, sink) = (fixture.center, fixture.choice, fixture.sink)
      return .loop { iterations in
        for value in 0..<iterations {
          let token = center.messages(of: SubjectMessage.self, about: choice[value]).observe {
            sink.add($0.value)
          }
          token.cancel()
        }
        withExtendedLifetime(fixture) {}
      }
    }
  }

  // MARK: Foundation

  private struct Foundation {
    let choice: Choice
    let center = NotificationCenter()
    let sink = Sink()
    let observers: [any NSObjectProtocol]

    init(_ count: Int) {
      choice = Choice(count)
      observers = choice.subjects.map { [center, sink] subject in
        center.addObserver(forName: .measured, object: subject, queue: nil) { _ in sink.add(1) }
      }
    }
  }

  private static func post(_ kept: Kept<Foundation>) -> Contender {
    Contender("NotificationCenter") {
      let fixture = kept.use()
      let (center, choice) = (fixture.center, fixture.choice)
      return .loop { iterations in
        for value in 0..<iterations { center.post(name: .measured, object: choice[value]) }
        withExtendedLifetime(fixture) {}
      }
    }
  }

  private static func observe(_ kept: Kept<Foundation>) -> Contender {
    Contender("NotificationCenter") {
      let fixture = kept.use()
      let (center, choice, sink) = (fixture.center, fixture.choice, fixture.sink)
      return .loop { iterations in
        for value in 0..<iterations {
          let observer = center.addObserver(
            forName: .measured, object: choice[value], queue: nil
          ) { _ in sink.add(1) }
          center.removeObserver(observer)
        }
        withExtendedLifetime(fixture) {}
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

  private struct Dictionary {
    let choice: Choice
    let center = MutexDictionary<ObjectIdentifier, SubjectMessage>()
    let sink = Sink()

    init(_ count: Int) {
      choice = Choice(count)
      for subject in choice.subjects {
        _ = center.observe(ObjectIdentifier(subject)) { [sink] in sink.add($0.value) }
      }
    }
  }

  private static func post(_ kept: Kept<Dictionary>) -> Contender {
    Contender("dictionary") {
      let fixture = kept.use()
      let (center, choice) = (fixture.center, fixture.choice)
      return .loop { iterations in
        for value in 0..<iterations {
          center.post(SubjectMessage(value), ObjectIdentifier(choice[value]))
        }
      }
    }
  }

  private static func observe(_ kept: Kept<Dictionary>) -> Contender {
    Contender("dictionary") {
      let fixture = kept.use()
      let (center, choice, sink) = (fixture.center, fixture.choice, fixture.sink)
      return .loop { iterations in
        for value in 0..<iterations {
          let key = ObjectIdentifier(choice[value])
          center.remove(center.observe(key) { sink.add($0.value) }, key)
        }
      }
    }
  }
}
