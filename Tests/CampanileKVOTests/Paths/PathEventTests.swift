import Campanile
import CampanileKVO
import CampanileTesting
import Observation
import TestSupport
import Testing

@Suite("What happens at a key path", .ownThread)
struct PathEventTests {
  private final class Song: SharedObservable {
    private let registrar = KVORegistrar()
    private let stored = Title("")
    var title: String {
      get {
        registrar.access(self, keyPath: \.title)
        return stored.value
      }
      set { registrar.withMutation(of: self, keyPath: \.title) { stored.set(newValue) } }
    }
  }

  /// A value behind a lock.
  private final class Title: Sendable {
    private let slot: Slot<String>
    init(_ value: String) {
      slot = Slot()
      slot.set(value)
    }
    var value: String { slot.value ?? "" }
    func set(_ value: String) { slot.set(value) }
  }

  @Test("K15 the changes of a key path are reported, with every observer, until nobody looks")
  func events() throws {
    let (song, owner) = (Song(), Screen())
    let controller = KVOController(owner: owner)
    controller.observe(song, \.title) { _, _, _ in }
    let line = #line - 1
    let changes = song.changes(of: \.title)
    let events = Recorder(observing: changes.events)
    song.title = "Aria"
    let kinds = events.values.map(\.kind)
    #expect(kinds.first == .posted)
    #expect(kinds.last == .postReturned)
    #expect(kinds.count { $0 == .called } == 2)
    #expect(kinds.count { $0 == .returned } == 2)
    #expect(events.values.contains { $0.kind == .called && $0.line == line })
    #expect(events.values.contains { $0.ownerType == Screen.self })
    #expect(changes.registrations.contains { $0.line == line && $0.ownerType == Screen.self })
    #expect(changes.inspection.name.hasSuffix("of Song"))
    events.stop()
    song.title = "Aria da capo"
    #expect(events.count == kinds.count)
    withExtendedLifetime(controller) {}
  }

  @Test("K15 the events of a key path end with its object")
  func end() {
    let leaks = LeakTracker()
    let token: ObservationToken
    let reader: @Sendable () -> [RegistrationDescription]
    do {
      let song = Song()
      leaks.track(song, as: "song")
      let changes = song.changes(of: \.title)
      let probe = leaks.makeProbe("closure")
      token = changes.events.observe { _ in probe.touch() }
      reader = changes.inspection.groupsReader
      song.title = "Aria"
      #expect(reader().count == 1)
    }
    #expect(leaks.alive == [])
    #expect(!token.isActive)
    #expect(reader().isEmpty)
  }
}
