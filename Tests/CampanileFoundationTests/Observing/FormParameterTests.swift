import Campanile
import CampanileFoundation
import Foundation
import Testing

/// Each form of observing hands on, in its own lines, what it is given.
@Suite("Every form honors the object, the buffer, the delivery, the options and the handler")
struct FormParameterTests {
  private actor Ear {
    let heard = Recorder<Int>()
    func run<Result: Sendable>(_ body: @Sendable (isolated Ear) -> Result) -> Result {
      body(self)
    }
  }

  private let center = NotificationCenter()
  private let bell = Bell()
  private let tower = Tower()
  private let heard = Recorder<Int>()
  private let failures = Recorder<Int>()
  private let descriptor = NotificationDescriptor<Int>(Rung.notificationName) {
    try $0.value(forKey: "number")
  }

  /// Posts two values for every observer, and two that observers about the bell do not hear.
  private func postTwo() {
    center.post(Rung(number: 8), object: Bell())
    center.post(Rung(number: 9))
    for number in 1...2 { center.post(Rung(number: number), object: bell) }
  }

  private func expectOneWaits(_ registrations: [Registration], on delivery: String) {
    #expect(registrations.map(\.droppedCount) == registrations.map { _ in 1 })
    #expect(center.registrations.map(\.delivery) == registrations.map { _ in delivery })
  }

  private func expectOneWasHeard(_ registrations: [Registration], _ heard: Recorder<Int>) {
    #expect(heard.values == registrations.map { _ in 1 })
    #expect(registrations.allSatisfy { !$0.isActive })
  }

  @Test("K11 K12 Observers at a place")
  func atPlace() {
    let manual = ManualTarget()
    let place = manual.delivery.ordered
    let name = Rung.notificationName
    let tokens = [
      center.observe(name, object: bell, on: place, buffering: .oldest(1), .once) { [heard] in
        heard.record($0.number)
      },
      center.observe(
        Rung.self, object: bell, on: place, buffering: .oldest(1), .once
      ) { [heard] in heard.record($0.number) },
      center.observe(
        descriptor, object: bell, on: place, buffering: .oldest(1), .once
      ) { [heard] in heard.record($0) },
    ]
    defer { withExtendedLifetime(tokens) {} }
    let owned = [
      center.observe(
        name, object: bell, owner: tower, on: place, buffering: .oldest(1), .once
      ) { [heard] in heard.record($1.number) },
      center.observe(
        Rung.self, object: bell, owner: tower, on: place, buffering: .oldest(1), .once
      ) { [heard] in heard.record($1.number) },
      center.observe(
        descriptor, object: bell, owner: tower, on: place, buffering: .oldest(1), .once
      ) { [heard] in heard.record($1) },
    ]
    let registrations = tokens.map(\.registration) + owned
    postTwo()
    expectOneWaits(registrations, on: "ManualDelivery.ordered")
    manual.runAll()
    expectOneWasHeard(registrations, heard)
  }

  @Test("K11 K12 Observers on the main actor")
  @MainActor func onMain() async {
    let name = Rung.notificationName
    let tokens = [
      center.observe(
        name, object: bell, on: .main.ordered, buffering: .oldest(1), .once
      ) { [heard] in heard.record($0.number) },
      center.observe(
        Rung.self, object: bell, on: .main.ordered, buffering: .oldest(1), .once
      ) { [heard] in heard.record($0.number) },
      center.observe(
        descriptor, object: bell, on: .main.ordered, buffering: .oldest(1), .once
      ) { [heard] in heard.record($0) },
    ]
    defer { withExtendedLifetime(tokens) {} }
    let owned = [
      center.observe(
        name, object: bell, owner: tower, on: .main.ordered, buffering: .oldest(1), .once
      ) { [heard] in heard.record($1.number) },
      center.observe(
        Rung.self, object: bell, owner: tower, on: .main.ordered, buffering: .oldest(1), .once
      ) { [heard] in heard.record($1.number) },
      center.observe(
        descriptor, object: bell, owner: tower, on: .main.ordered, buffering: .oldest(1), .once
      ) { [heard] in heard.record($1) },
    ]
    let registrations = tokens.map(\.registration) + owned
    postTwo()
    // Nothing is delivered before this function gives way.
    expectOneWaits(registrations, on: ".main.ordered")
    _ = await heard.values(count: registrations.count)
    expectOneWasHeard(registrations, heard)
  }

  @Test("K12 Observers on an actor")
  func onActor() async {
    let ear = Ear()
    let registrations = await ear.run { ear in
      let registrations = [
        center.observe(
          Rung.notificationName, object: bell, on: ear, buffering: .oldest(1), .once
        ) { $0.heard.record($1.number) },
        center.observe(Rung.self, object: bell, on: ear, buffering: .oldest(1), .once) {
          $0.heard.record($1.number)
        },
        center.observe(descriptor, object: bell, on: ear, buffering: .oldest(1), .once) {
          $0.heard.record($1)
        },
      ]
      postTwo()
      // The actor is busy until this closure ends.
      expectOneWaits(registrations, on: "actor Ear")
      return registrations
    }
    _ = await ear.heard.values(count: registrations.count)
    await ear.run { _ in }
    expectOneWasHeard(registrations, ear.heard)
  }

  @Test("A sequence of one value ends with it, whatever it is of")
  func sequences() async {
    let named = center.notifications(of: Rung.notificationName).values(.once)
    let all = center.notifications(of: nil).values(.once)
    let about = center.notifications(of: nil, object: bell).values(.once)
    let typed = center.notifications(of: Rung.self, object: bell).values(.once)
    let described = center.notifications(of: descriptor).values(.once)
    for number in 1...2 { center.post(Rung(number: number), object: bell) }
    for await posted in named { heard.record(posted.number) }
    for await posted in all { heard.record(posted.number) }
    for await posted in about { heard.record(posted.number) }
    for await rung in typed { heard.record(rung.number) }
    for await number in described { heard.record(number) }
    #expect(heard.values == [1, 1, 1, 1, 1])
    #expect(center.registrations.isEmpty)
  }

  @Test("H3 What cannot be read is told to each form's own handler, with its own place")
  @MainActor func handlers() async {
    let fail = { @Sendable [failures] (failure: NotificationDecodingFailure) in
      failures.record(failure.line)
    }
    let (ear, line) = (Ear(), #line + 2)
    let tokens = [
      center.observe(Rung.self, onFailure: fail) { _ in },
      center.observe(Rung.self, on: .main, onFailure: fail) { _ in },
      center.observe(descriptor, onFailure: fail) { _ in },
      center.observe(descriptor, on: .main, onFailure: fail) { _ in },
    ]
    center.observe(Rung.self, owner: tower, onFailure: fail) { _, _ in }
    center.observe(Rung.self, owner: tower, on: .main, onFailure: fail) { _, _ in }
    center.observe(Rung.self, on: ear, onFailure: fail) { _, _ in }
    center.observe(descriptor, owner: tower, onFailure: fail) { _, _ in }
    center.observe(descriptor, owner: tower, on: .main, onFailure: fail) { _, _ in }
    center.observe(descriptor, on: ear, onFailure: fail) { _, _ in }
    center.post(name: Rung.notificationName, object: bell)
    let lines = await failures.values(count: 10)
    #expect(lines.sorted() == Array(line..<line + 4) + Array(line + 5..<line + 11))
    withExtendedLifetime((tokens, ear)) {}
  }
}
