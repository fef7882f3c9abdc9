import Campanile
import Observation
import Testing

@testable import CampanileKVO

@Suite("Links to properties")
struct LinkTests {
  /// The link that `upstream` makes to a property, which it does not follow otherwise.
  private func link(_ property: ObservedProperty, in upstream: Upstream) -> Link {
    var made: Link?
    _ = upstream.follow([ReadCollector.Read(property: property, revision: property.revision)]) {
      made = $0
    }
    return made!
  }

  private let event = ObservedProperty.Event(maker: .current, edit: nil)

  // Broken by: ChangeKeeper.begin and end, if they take in what a link says after its end.
  @Test("What a thread still says over a link that has ended is ignored")
  func lateCalls() {
    let radio = Radio()
    let subject = ObservedProperty.Subject(ObjectIdentifier(radio))
    let property = ObservedProperty(\Radio.volume, of: subject)
    let upstream = Upstream()
    let old = link(property, in: upstream)
    let ended = upstream.follow([]) { _ in fatalError("Nothing is to be followed") }
    #expect(ended.count == 1 && ended.first === old && old.hasEnded)
    let new = link(property, in: upstream)
    #expect(new !== old && !new.hasEnded)

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
