import CampanileTesting
import Foundation

extension Scenario {
  /// How observations end, and what they leave behind.
  static let ending: [Scenario] = [
    Scenario(3, "An observer that is ended during a post, before its turn, is skipped") { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let handles = Kept<[Handle]>()
      // Whoever is called first ends all others.
      handles.set(
        (0..<20).map { index in
          source.observe { _ in
            heard.record(index)
            for (other, handle) in (handles.value ?? []).enumerated() where other != index {
              handle.cancel()
            }
          }
        })
      source.post(1)
      try stage.expect(
        heard.count == 1, "calls \(heard.count - 1) observers after they were ended")
      for handle in handles.value ?? [] { handle.cancel() }
    },
    Scenario(3, "`cancel` does not wait for a call in progress", .concurrency) { stage in
      let (source, gate) = (stage.makeSource(), Gate())
      let handle = source.observe { _ in gate.pass() }
      let posts = stage.begin { source.post(1) }
      try gate.waitUntilReached()
      let cancels = stage.begin { handle.cancel() }
      let returned = cancels()
      gate.open()
      try stage.expect(returned && posts(), "waits for the observer")
    },
    Scenario(4, "Canceling and waiting returns when no call is running", .waiting) { stage in
      let (source, gate, log) = (stage.makeSource(), Gate(), Recorder<String>())
      let handle = source.observe { _ in
        gate.pass()
        log.record("call ended")
      }
      let posts = stage.begin { source.post(1) }
      try gate.waitUntilReached()
      let waits = stage.begin {
        handle.cancelAndWait()
        log.record("wait ended")
      }
      // Whoever waits has ended the observation by then.
      while handle.isActive() { sched_yield() }
      gate.open()
      try stage.expect(waits() && posts(), "deadlocks")
      try stage.expect(
        log.values == ["call ended", "wait ended"], "returns while the call is running")
    },
    Scenario(8, "An owner is not kept, and not called after its end", .owners) { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      var owner: Owner? = Owner()
      if let owner { _ = source.observe(Wish(owner: owner)) { heard.record($0) } }
      source.post(1)
      weak let ended = owner
      withExtendedLifetime(owner) {}
      owner = nil
      source.post(2)
      try stage.expect(ended == nil, "keeps the owner")
      try stage.expect(heard.values == [1], "delivers \(heard.values)")
    },
    Scenario(8, "What was queued for an owner that has ended is not delivered", .ownersOnQueues) {
      stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      var owner: Owner? = Owner()
      if let owner { _ = source.observe(Wish(place: place, owner: owner)) { heard.record($0) } }
      place.hold()
      source.post(1)
      withExtendedLifetime(owner) {}
      owner = nil
      place.letGo()
      place.flush()
      try stage.expect(heard.values == [], "delivers what was queued before")
    },
    Scenario(8, "The end of an owner with a lifetime releases what was captured", .lifetimes) {
      stage in
      let (source, leaks) = (stage.makeSource(), LeakTracker())
      var owner: Owner? = Owner()
      if let owner {
        let probe = leaks.makeProbe("closure")
        _ = source.observe(Wish(owner: owner)) { _ in probe.touch() }
      }
      try stage.expect(leaks.alive.count == 1, "releases it before")
      withExtendedLifetime(owner) {}
      owner = nil
      try stage.expect(leaks.alive == [], "keeps it")
    },
    Scenario(15, "The count of the live observers is exact", .listing) { stage in
      let source = stage.makeSource()
      var owner: Owner? = Owner()
      let handles = (0..<5).map { _ in source.observe { _ in } }
      if let owner { _ = source.observe(Wish(owner: owner)) { _ in } }
      let before = source.listedCount
      withExtendedLifetime(owner) {}
      handles[2].cancel()
      owner = nil
      try stage.expect(
        (before, source.listedCount) == (6, 4), "counts \(before), then \(source.listedCount)")
      for handle in handles { handle.cancel() }
    },
    Scenario(16, "What an observer captured is released when it ends") { stage in
      let (source, leaks) = (stage.makeSource(), LeakTracker())
      for _ in 0..<100 {
        let probe = leaks.makeProbe("closure")
        source.observe { _ in probe.touch() }.cancel()
      }
      try stage.expect(leaks.alive == [], "keeps \(leaks.alive.count) of 100 closures")
    },
    Scenario(16, "Captured values are released while another observer is in a call", .concurrency) {
      stage in
      let (source, leaks, gate) = (stage.makeSource(), LeakTracker(), Gate())
      let held = source.observe { _ in gate.pass() }
      let posts = stage.begin { source.post(1) }
      try gate.waitUntilReached()
      for _ in 0..<100 {
        let probe = leaks.makeProbe("closure")
        source.observe { _ in probe.touch() }.cancel()
      }
      gate.open()
      try stage.expect(posts(), "deadlocks")
      try stage.expect(leaks.alive == [], "keeps \(leaks.alive.count) of 100 closures")
      held.cancel()
    },
    Scenario(16, "The end of the source releases what observers captured") { stage in
      let leaks = LeakTracker()
      do {
        let source = stage.makeSource()
        let probe = leaks.makeProbe("closure")
        let handle = source.observe { _ in probe.touch() }
        source.post(1)
        _ = handle
      }
      try stage.expect(leaks.alive == [], "keeps it")
    },
  ]
}
