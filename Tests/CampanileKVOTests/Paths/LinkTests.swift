import Campanile
import Observation
import TestSupport
import Testing

@testable import CampanileKVO

@Suite("Links to properties")
struct LinkTests {
  private let event = ObservedProperty.Event(maker: .current, edit: nil)

  // Broken by: ChangeKeeper.begin and end, if they take in what a link says after its end.
  @Test("What a thread still says over a link that has ended is ignored")
  func lateCalls() {
    let radio = Radio()
    let subject = ObservedProperty.Subject(ObjectIdentifier(radio))
    let property = ObservedProperty(\Radio.volume, of: subject)
    let old = Link(property)
    old.end()
    #expect(old.hasEnded)
    let new = Link(property)
    #expect(!new.hasEnded)

    var keeper = ChangeKeeper()
    _ = keeper.forget([ObjectIdentifier(old)])

    // By a thread that was called before the link ended.
    let thread = SourceRegistry.currentThread
    var beginning = keeper.begin(event, old, on: thread)
    #expect(beginning == .known && !keeper.isBusy)
    beginning = keeper.begin(event, new, on: thread)
    #expect(beginning == .new)
    beginning = keeper.begin(event, old, on: thread)
    #expect(beginning == .known)
    var report = keeper.endAndTell(event, over: new, on: thread)
    #expect(report != nil)
    report = keeper.nextReport()
    #expect(report == nil && !keeper.isBusy)
    report = keeper.end(event, over: old)
    #expect(report == nil)
    withExtendedLifetime(radio) {}
  }

  // Broken by: Evaluation.close, if it ends no link.
  @Test("K16 A property forgets the evaluation of a key path with its last observer")
  func lastObserver() {
    let radio = Radio()
    let collector = ReadCollector()
    collector.collect { _ = radio.volume }
    let property = collector.take()[0].property
    let tokens = (0..<3).map { _ in radio.observe(\.display) { _, _ in } }
    for (index, token) in tokens.enumerated() {
      #expect(property.evaluations.count == 1, "\(index) have gone")
      token.cancel()
    }
    #expect(property.evaluations.isEmpty)
  }

  // Broken by: Evaluation.follow, if it does not look again.
  @Test("A change between the reading of a property and the following of it is told")
  func changedBeforeFollowed() {
    let device = Toggle(isOn: false)
    let heard = Recorder<Int>()
    let token = device.observe(\.shown) { heard.record($1.new) }
    device.hasRead.set { [device] in
      device.hasRead.set(nil)
      onThread { device.setValue(5) }()
    }
    device.isOn = true
    #expect(heard.values.last == 5)
    withExtendedLifetime(token) {}
  }
}
