import Foundation

extension Notification.Name {
  static let measured = Notification.Name("measured")
}

/// A typed message of Foundation, which is posted on the main actor and has a subject in any case.
struct FoundationMessage: NotificationCenter.MainActorMessage {
  typealias Subject = bench.Subject
  static var name: Notification.Name { Notification.Name("typed") }
  var value: Int
}

/// Contenders that post through Foundation's NotificationCenter, on the thread that posts.
enum FoundationPosting {
  /// Blocks that do not look at what came with the notification.
  static func blocks(_ count: Int) -> Contender {
    Contender("NotificationCenter") {
      let center = NotificationCenter()
      let sink = Sink()
      let observers = (0..<count).map { _ in
        center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
      }
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: nil) }
        withExtendedLifetime(observers) {}
      }
    }
  }

  /// Blocks that read a number from the user info, as the observers of the others do.
  static func userInfo(_ count: Int) -> Contender {
    Contender("NotificationCenter, user info") {
      let center = NotificationCenter()
      let sink = Sink()
      let observers = (0..<count).map { _ in
        center.addObserver(forName: .measured, object: nil, queue: nil) { notification in
          if let value = notification.userInfo?["value"] as? Int { sink.add(value) }
        }
      }
      return .loop { iterations in
        for value in 0..<iterations {
          center.post(name: .measured, object: nil, userInfo: ["value": value])
        }
        withExtendedLifetime(observers) {}
      }
    }
  }

  /// Blocks with a weak reference to an owner each.
  static func weakOwners(_ count: Int) -> Contender {
    Contender("NotificationCenter") {
      let center = NotificationCenter()
      let owners = (0..<count).map { _ in Owner(Sink()) }
      let observers = owners.map { owner in
        center.addObserver(forName: .measured, object: nil, queue: nil) { [weak owner] _ in
          owner?.add(1)
        }
      }
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: nil) }
        withExtendedLifetime((observers, owners)) {}
      }
    }
  }

  /// Blocks that hear about one object.
  static func subject(_ count: Int) -> Contender {
    Contender("NotificationCenter") {
      let center = NotificationCenter()
      let sink = Sink()
      let subject = Subject()
      let observers = (0..<count).map { _ in
        center.addObserver(forName: .measured, object: subject, queue: nil) { _ in sink.add(1) }
      }
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: subject) }
        withExtendedLifetime(observers) {}
      }
    }
  }

  /// Blocks for one name, and one for every name.
  static func wildcard(_ count: Int) -> Contender {
    Contender("NotificationCenter") {
      let center = NotificationCenter()
      let sink = Sink()
      var observers = (0..<count).map { _ in
        center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
      }
      observers.append(
        center.addObserver(forName: nil, object: nil, queue: nil) { _ in sink.add(1) })
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: nil) }
        withExtendedLifetime(observers) {}
      }
    }
  }

  /// Observers of Foundation's typed messages.
  static func typed(_ count: Int) -> Contender {
    Contender("NotificationCenter, typed") {
      let center = NotificationCenter()
      let sink = Sink()
      let tokens = (0..<count).map { _ in
        center.addObserver(for: FoundationMessage.self) { message in
          sink.add(message.value)
        }
      }
      return .loop { iterations in
        // Entering the main actor is paid for once in a batch.
        MainActor.assumeIsolated {
          let subject = Subject()
          for value in 0..<iterations {
            center.post(FoundationMessage(value: value), subject: subject)
          }
        }
        withExtendedLifetime(tokens) {}
      }
    }
  }
}
