import Campanile
import CampanileFoundation
import Foundation
import Testing

private final class Hashed: Hashable, Sendable {
  static func == (one: Hashed, other: Hashed) -> Bool { one === other }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What an object may come in where it is passed as `Any`.
private enum Wrapper: CaseIterable, Sendable {
  case none, optional, nested, hashable, optionalHashable, hashableOptional

  func wrap(_ object: Hashed) -> Any {
    switch self {
    case .none: object
    case .optional: Optional(object) as Any
    case .nested: Optional(Optional(Optional(object))) as Any
    case .hashable: AnyHashable(object)
    case .optionalHashable: Optional(AnyHashable(object)) as Any
    case .hashableOptional: AnyHashable(Optional(object))
    }
  }

  /// Whether Foundation's center on Linux takes the object out.
  var isUnwrappedByFoundation: Bool { self != .hashable && self != .optionalHashable }
}

@Suite("Objects of notifications in wrappers", .ownThread)
struct SenderTests {
  private let center = NotificationCenter()
  private let heard = Recorder<Int>()

  @Test("An object in a wrapper is the object", arguments: Wrapper.allCases)
  private func wrapped(wrapper: Wrapper) {
    let (object, target) = (Hashed(), ManualTarget())
    let sender = wrapper.wrap(object)
    let tokens = [
      center.notifications(of: .tick, object: object).observe { [heard] in
        heard.record($0.number)
        #expect($0.isAbout(object))
        #expect($0.object(as: Hashed.self) === object)
      },
      center.notifications(of: nil, object: object).observe(on: target.delivery) { [heard] in
        heard.record($0.number * 10)
        #expect($0.object(as: Hashed.self) === object)
      },
    ]
    let theirs = Recorder<Int>()
    let token = center.addObserver(forName: .tick, object: object, queue: nil) {
      theirs.record($0.userInfo?["number"] as? Int ?? -1)
    }
    center.post(name: .tick, object: sender, userInfo: ["number": 1])
    for other in [wrapper.wrap(Hashed()), Hashed?.none as Any, Hashed??(nil) as Any] {
      center.post(name: .tick, object: other, userInfo: ["number": 2])
    }
    target.runJobs()
    center.removeObserver(token)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 10])
    #if os(Linux)
      #expect(theirs.values == (wrapper.isUnwrappedByFoundation ? [1] : []))
    #endif
  }
}
