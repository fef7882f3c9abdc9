import Campanile
import Observation
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
}
