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

@Suite("What a notification hands out is Sendable")
struct SendableCastTests {
  @Test("A type that stands for many is refused, since everything passes as one of it")
  func refused() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted(Drawing())["value", as: (any Titled & Sendable).self]
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted(Drawing())["value", as: (any AnyObject & Sendable).self]
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = try? posted(Drawing()).value(forKey: "value", as: (any Titled & Sendable).self)
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted(Drawing()).object(as: (any Sendable).self)
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let inferred: [any Sendable]? = posted([Drawing()])["value"]
        _ = inferred
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted([1])["value", as: (any Sequence<Int> & Sendable).self]
      },
      says: "says nothing about whether the value is")
  }

  @Test("A type that is made of such types is refused too")
  func refusedInside() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted(["key": Drawing()])["value", as: [String: any Titled & Sendable].self]
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted(Drawing())["value", as: (any Titled & Sendable)?.self]
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted(Crate<Any>(content: Drawing()))["value", as: Crate<any Sendable>.self]
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted((1, Drawing()) as (Int, Any))["value", as: (Int, any Sendable).self]
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted(1)["value", as: Crate<any Sequence<Int> & Sendable>.self]
      },
      says: "says nothing about whether the value is")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = posted([1])["value", as: Result<[any Titled & Sendable], any Error>.self]
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
