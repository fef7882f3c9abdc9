import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation

/// Notifications by name: the replacement of Foundation's center, and Foundation's own center
/// observed through Campanile.
enum Notifications {
  static var cases: [Case] {
    [0, 1, 10, 100].map(replacement) + [1, 10, 100].map(observed)
      + ValuePost.allCases.map(besideValues) + [add]
  }

  private typealias Replacement = CampanileNotificationCenter.NotificationCenter

  private static func replacement(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let center = Replacement()
      let sink = Sink()
      let observers = (0..<count).map { _ in
        center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
      }
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: nil) }
        withExtendedLifetime(observers) {}
      }
    }
    return Case(
      name: "notify \(count, "observer") of the replacement",
      contenders: [ours, FoundationPosting.blocks(count)])
  }

  private static func observed(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let center = Foundation.NotificationCenter()
      let sink = Sink()
      let tokens = (0..<count).map { _ in
        center.observe(.measured) { _ in sink.add(1) }
      }
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: nil) }
        withExtendedLifetime(tokens) {}
      }
    }
    return Case(
      name: "notify \(count, "observer") of Foundation's center",
      contenders: [ours, FoundationPosting.blocks(count)])
  }

  /// What a post is about, where a hundred observers observe a value each.
  private enum ValuePost: String, CaseIterable {
    case value = "one of 100 observed values"
    case instance = "an instance, beside 100 observed values"
    case nothing = "nothing, beside 100 observed values"

    func object(_ instance: AnyObject) -> Any? {
      switch self {
      case .value: 7
      case .instance: instance
      case .nothing: nil
      }
    }
  }

  private static func besideValues(_ post: ValuePost) -> Case {
    let ours = Contender(Contender.ours) {
      let center = Replacement()
      let (sink, instance) = (Sink(), Subject())
      for value in 0..<100 {
        _ = center.addObserver(forName: .measured, object: value, queue: nil) { _ in sink.add(1) }
      }
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: post.object(instance)) }
      }
    }
    let foundation = Contender("NotificationCenter") {
      let center = Foundation.NotificationCenter()
      let (sink, instance) = (Sink(), Subject())
      for value in 0..<100 {
        _ = center.addObserver(forName: .measured, object: value, queue: nil) { _ in sink.add(1) }
      }
      return .loop { iterations in
        for _ in 0..<iterations { center.post(name: .measured, object: post.object(instance)) }
      }
    }
    return Case(
      name: "notify about \(post.rawValue), of the replacement", contenders: [ours, foundation])
  }

  private static var add: Case {
    let ours = Contender(Contender.ours) {
      let center = Replacement()
      return .loop { iterations in
        for _ in 0..<iterations {
          let observer = center.addObserver(forName: .measured, object: nil, queue: nil) { _ in }
          center.removeObserver(observer)
        }
      }
    }
    let foundation = Contender("NotificationCenter") {
      let center = Foundation.NotificationCenter()
      return .loop { iterations in
        for _ in 0..<iterations {
          let observer = center.addObserver(forName: .measured, object: nil, queue: nil) { _ in }
          center.removeObserver(observer)
        }
      }
    }
    return Case(name: "add to the replacement and remove", contenders: [ours, foundation])
  }
}
