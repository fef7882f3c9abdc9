import Campanile
import CampanileFoundation
import Foundation
import Testing

/// Not Sendable: what must never come out of a notification on another thread.
private final class Drawing: Titled, Hashable {
  var title = ""
  static func == (one: Drawing, other: Drawing) -> Bool { one === other }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
private protocol Titled {}
private struct Crate<Content> { var content: Content }
extension Crate: Sendable where Content: Sendable {}
private enum Oddly { struct `Any`: Sendable, Equatable {} }
private final class Wire: Sendable {}
private struct Snag: Error {}

private func posted(_ value: Any) -> PostedNotification {
  PostedNotification(Notification(name: .tick, object: value, userInfo: ["value": value]))
}

/// A type that says nothing about its values, or is made of one, and a value that passes as it.
private enum Vague: Codable, CaseIterable, Sendable {
  case existential, anyObject, ofValue, ofObject, inferred, sequence
  case inDictionary, optional, argument, tuple, argumentOfSequence, result

  func ask() {
    switch self {
    case .existential: _ = posted(Drawing())["value", as: (any Titled & Sendable).self]
    case .anyObject: _ = posted(Drawing())["value", as: (any AnyObject & Sendable).self]
    case .ofValue:
      _ = try? posted(Drawing()).value(forKey: "value", as: (any Titled & Sendable).self)
    case .ofObject: _ = posted(Drawing()).object(as: (any Sendable).self)
    case .inferred:
      let inferred: [any Sendable]? = posted([Drawing()])["value"]
      _ = inferred
    case .sequence: _ = posted([1])["value", as: (any Sequence<Int> & Sendable).self]
    case .inDictionary:
      _ = posted(["key": Drawing()])["value", as: [String: any Titled & Sendable].self]
    case .optional: _ = posted(Drawing())["value", as: (any Titled & Sendable)?.self]
    case .argument: _ = posted(Crate<Any>(content: 1))["value", as: Crate<any Sendable>.self]
    case .tuple: _ = posted((1, Drawing()) as (Int, Any))["value", as: (Int, any Sendable).self]
    case .argumentOfSequence:
      _ = posted(1)["value", as: Crate<any Sequence<Int> & Sendable>.self]
    case .result: _ = posted([1])["value", as: Result<[any Titled & Sendable], any Error>.self]
    }
  }
}

@Suite("What a notification hands out is Sendable", .ownThread)
struct SendableCastTests {
  @Test(
    "A type that stands for many is refused, since everything passes as it; and what is made of one",
    arguments: Vague.allCases)
  private func refused(vague: Vague) async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        [vague = vague as Vague] in
        vague.ask()
      },
      says: "says nothing about whether the value is")
  }

  @Test("Concrete types are handed out, and errors of whatever type")
  func concrete() throws {
    let wire = Wire()
    #expect(posted(1)["value", as: Int.self] == 1)
    #expect(posted(1)["value", as: String.self] == nil)
    #expect(posted([1, 2])["value"] == [1, 2])
    #expect(posted(["a": [1]])["value"] == ["a": [1]])
    #expect(posted(Optional(1) as Any)["value", as: Int?.self] == 1)
    #expect(posted(Crate(content: 2))["value", as: Crate<Int>.self]?.content == 2)
    #expect(posted(Oddly.Any())["value", as: Oddly.Any.self] == Oddly.Any())
    #expect(posted(Wire.self)["value", as: Wire.Type.self] == Wire.self)
    #expect(posted(wire).object(as: Wire.self) === wire)
    #expect(posted(Snag())["value", as: (any Error).self] is Snag)
    #expect(try posted([Snag()]).value(forKey: "value", as: [any Error].self).count == 1)
  }
}
