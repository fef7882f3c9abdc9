import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CampanileRelay

@Suite("Who hears a name that arrives", .ownThread)
struct RoutesTests {
  @Test("R1 Who is not the first to want a pattern finds it asked for", arguments: [2, 8])
  func wanted(width: Int) {
    for what in [Routes.Wanted.What.messages, .requests] {
      let wanted = Routes.Wanted(what, "a")
      let other = Routes.Wanted(what == .messages ? .requests : .messages, "a")
      for _ in 0..<200 {
        let routes = Routes()
        let isQueued = Atomic<Bool>(false)
        let counts = Atomic<Int>(0)
        onThreads(width) { _ in
          let isFirst = routes.want(wanted) {
            sched_yield()
            isQueued.store(true, ordering: .releasing)
            return true
          }
          if isFirst { counts.add(1, ordering: .relaxed) }
          let isFound = isQueued.load(ordering: .acquiring)
          #expect(isFound)
        }
        let count = counts.load(ordering: .relaxed)
        #expect(count == 1)
        #expect(!routes.want(other) { false })
        for _ in 1..<width { #expect(!routes.unwant(wanted) { true }) }
        #expect(routes.unwant(wanted) { true })
        #expect(!routes.unwant(wanted) { true })
      }
    }
  }

  @Test("K16 Few of many names that arrive are kept")
  func manyNames() async {
    await #expect(processExitsWith: .success) {
      let routes = Routes()
      func names(_ range: Range<Int>) {
        for n in range { _ = routes.find("device.\(n).level", of: 1) }
      }
      names(0..<20_000)
      let before = liveBytes
      names(20_000..<60_000)
      #expect(before > 0)
      #expect(liveBytes - before < 1_000_000, "\(liveBytes - before)")
    }
  }

  @Test("What was found for the message before is found anew after each change")
  func changes() throws {
    let routes = Routes()
    let first = Routes.Route(try SubjectPattern(validating: "a.>")) { _, _ in true }
    let second = Routes.Route(try SubjectPattern(validating: "a.b")) { _, _ in true }
    routes.add(first)
    var heading = routes.find("a.b", of: 1)
    #expect(heading.routes.map { $0 === first } == [true])
    #expect(heading.sender.name == "")
    #expect(routes.find("a.b", of: 1, after: heading) === heading)
    // Another name, and another sender.
    #expect(routes.find("b", of: 1, after: heading).routes.isEmpty)
    #expect(routes.find("a.b", of: 2, after: heading).sender.id == 2)
    routes.add(second)
    heading = routes.find("a.b", of: 1, after: heading)
    // In the order in which they were added, whether they have wildcards or not.
    #expect(heading.routes.map { $0 === first } == [true, false])
    let shared = Routes.Route(try SubjectPattern(validating: "a.b"), in: "g") { _, _ in true }
    routes.add(shared)
    #expect(routes.find("a.b", of: 1).routes.count == 2)
    #expect(routes.find("a.b", of: 1, in: "g").routes.map { $0 === shared } == [true])
    #expect(routes.find("a.c", of: 1, in: "g").routes.isEmpty)
    routes.remove(first)
    heading = routes.find("a.b", of: 1, after: heading)
    #expect(heading.routes.map { $0 === second } == [true])
    routes.setPeers([RelayPeer(id: 1, name: "one", processID: 7, isHub: false)])
    heading = routes.find("a.b", of: 1, after: heading)
    #expect(heading.sender.name == "one")
    // One that has left is named before its messages, and takes nobody's place.
    for id in [1, 2] as [UInt64] {
      routes.remember(RelayPeer(id: id, name: "gone", processID: 0, isHub: false))
    }
    #expect(routes.find("a.b", of: 1, after: heading).sender.name == "one")
    #expect(routes.find("a.b", of: 2).sender.name == "gone")
    #expect(routes.find("a.b", of: 3).sender.name == "")
  }
}
