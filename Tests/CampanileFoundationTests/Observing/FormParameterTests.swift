import Campanile
import CampanileFoundation
import Foundation
import Testing

/// Every way to observe is written once, and every source hands on what it is given.
@Suite(
  "Every source honors the object, the buffer, the delivery, the options and the handler",
  .ownThread, .bothCenters)
struct FormParameterTests {
  private actor Ear {
    let heard = Recorder<Int>()
    func run<Result: Sendable>(_ body: @Sendable (isolated Ear) -> Result) -> Result {
      body(self)
    }
  }

  private let center = makeCenter()
  private let bell = Bell()
  private let tower = Tower()
  private let heard = Recorder<Int>()
  private let failures = Recorder<Int>()
  private let name = Rung.notificationName
  private let descriptor = NotificationDescriptor<Int>(Rung.notificationName) {
    try $0.value(forKey: "number")
  }

  /// A source of each kind, of what is posted about the bell.
  private var sources: [Signal<Int>] {
    [
      center.notifications(of: name, object: bell).map { $0.number },
      center.notifications(of: nil, object: bell).map { $0.number },
      center.notifications(of: Rung.self, object: bell).map { $0.number },
      center.notifications(of: descriptor, object: bell),
    ]
  }

  /// Posts two values about the bell, after others that no observer of a source hears.
  private func postTwo(areOthers: Bool = true) {
    if areOthers {
      center.post(Rung(number: 8), object: Bell())
      center.post(Rung(number: 9))
    }
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

  @Test("C2 H1 K11 K12 Observers at a place", arguments: [false, true])
  func atPlace(isByName: Bool) {
    let manual = ManualTarget()
    let place = manual.delivery.ordered
    let hear = { @Sendable [heard] number in heard.record(number) }
    let tokens =
      isByName
      ? [center.observe(name, on: place.buffered(.oldest(1)), options: .once) { hear($0.number) }]
      : sources.map { $0.observe(on: place.buffered(.oldest(1)), options: .once) { hear($0) } }
    let owned =
      isByName
      ? [
        center.observe(name, owner: tower, on: place.buffered(.oldest(1)), options: .once) {
          hear($1.number)
        }
      ]
      : sources.map { source in
        source.observe(owner: tower, on: place.buffered(.oldest(1)), options: .once) { hear($1) }
      }
    let registrations = tokens.map(\.registration) + owned
    postTwo(areOthers: !isByName)
    expectOneWaits(registrations, on: "ManualDelivery, ordered")
    manual.runAll()
    expectOneWasHeard(registrations, heard)
    withExtendedLifetime(tokens) {}
  }

  @Test("K11 K12 Observers on the main actor", arguments: [false, true])
  @MainActor func onMain(isByName: Bool) async {
    let place = MainDelivery.main(buffering: .oldest(1), ordered: true)
    let hear = { @Sendable [heard] number in heard.record(number) }
    let tokens =
      isByName
      ? [center.observe(name, on: place, options: .once) { hear($0.number) }]
      : sources.map { $0.observe(on: place, options: .once) { hear($0) } }
    let owned =
      isByName
      ? [
        center.observe(name, owner: tower, on: place, options: .once) {
          hear($1.number)
        }
      ]
      : sources.map { source in
        source.observe(owner: tower, on: place, options: .once) { hear($1) }
      }
    let registrations = tokens.map(\.registration) + owned
    postTwo(areOthers: !isByName)
    // Nothing is delivered before this function gives way.
    expectOneWaits(registrations, on: ".main, ordered")
    _ = await heard.values(count: registrations.count)
    expectOneWasHeard(registrations, heard)
    withExtendedLifetime(tokens) {}
  }

  @Test("K12 Observers on an actor", arguments: [false, true])
  func onActor(isByName: Bool) async {
    let ear = Ear()
    let registrations = await ear.run { ear in
      let registrations =
        isByName
        ? [
          center.observe(name, on: ear, buffering: .oldest(1), options: .once) {
            $0.heard.record($1.number)
          }
        ]
        : sources.map { source in
          source.observe(on: ear, buffering: .oldest(1), options: .once) { $0.heard.record($1) }
        }
      postTwo(areOthers: !isByName)
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
    let sequences = sources.map { $0.values(options: .once) }
    let named = center.notifications(of: name).values(options: .once)
    postTwo()
    for sequence in sequences { #expect(await contents(of: sequence) == [1]) }
    #expect(await contents(of: named).map(\.number) == [8])
    #expect(center.registrations.isEmpty)
  }

  @Test("H3 What cannot be read is told to each source's own handler, with each observer's place")
  @MainActor func handlers() async {
    let fail = { @Sendable [failures] (failure: NotificationDecodingFailure) in
      failures.record(failure.line)
    }
    let typed = center.notifications(of: Rung.self, onFailure: fail)
    let sources = [
      center.notifications(of: Rung.self, object: bell, onFailure: fail).map { $0.number },
      center.notifications(of: descriptor, onFailure: fail),
      center.notifications(of: descriptor, object: bell, onFailure: fail),
    ]
    let (ear, line) = (Ear(), #line + 2)
    let tokens = [
      typed.observe { _ in },
      typed.observe(on: .main) { _ in },
      typed.observeAsync { _ in },
      sources[0].observe { _ in },
      sources[1].observe { _ in },
      sources[2].observe { _ in },
    ]
    typed.observe(owner: tower) { _, _ in }
    typed.observe(owner: tower, on: .main) { _, _ in }
    typed.observe(on: ear) { _, _ in }
    typed.observeAsync(owner: tower) { _, _ in }
    let values = typed.values()
    center.post(name: name, object: bell)
    let lines = await failures.values(count: 11)
    #expect(lines.sorted() == Array(line..<line + 6) + Array(line + 7..<line + 12))
    withExtendedLifetime((tokens, ear, values)) {}
  }
}
