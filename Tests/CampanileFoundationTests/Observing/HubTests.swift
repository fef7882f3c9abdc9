import Campanile
import Foundation
import Testing

@testable import CampanileFoundation

@Suite("One feed for each name of a Foundation center")
struct HubTests {
  private let heard = Recorder<Int>()

  @Test("K16 a center that dies ends its observations and releases what they captured")
  func centerDies() {
    let live = LiveCount()
    func observe() -> [ObservationToken] {
      let center = NotificationCenter()
      let tracked = Tracked(live)
      let tokens = [
        center.observe(.tick) { [tracked] _ in tracked.touch() },
        center.observe(nil) { [tracked] _ in tracked.touch() },
        center.observe(Rung.self) { [tracked] _ in tracked.touch() },
      ]
      center.post(.tick, 1)
      return tokens
    }
    let tokens = observe()
    #expect(live.current == 0)
    #expect(tokens.allSatisfy { !$0.isActive })
  }

  @Test("K16 what an observer captured is released when it ends", arguments: [1, 2, 8])
  func captured(width: Int) {
    let live = LiveCount()
    let center = NotificationCenter()
    onThreads(width) { _ in
      for number in 0..<100 {
        let tracked = Tracked(live)
        let token = center.observe(.tick) { [tracked] _ in tracked.touch() }
        center.post(.tick, number)
        token.cancel()
      }
    }
    center.post(.tick, 0)
    #expect(live.current == 0)
  }

  @Test("K16 a notification and its object are released once everybody has heard of it")
  func notification() {
    let live = LiveCount()
    let center = NotificationCenter()
    let target = ManualTarget()
    let token = center.observe(.tick, on: .target(target)) { [heard] in heard.record($0.number) }
    center.post(.tick, 1, object: Tracked(live))
    #expect(live.current == 1)
    target.runJobs()
    #expect(live.current == 0)
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("K16 the block in the center goes with the post after the last observer")
  func feedGoes() {
    let center = NotificationCenter()
    weak let hub = NotificationHub.existing(center)
    #expect(hub == nil)
    let token = center.observe(.tick) { [heard] in heard.record($0.number) }
    #expect(NotificationHub.existing(center) != nil)
    center.post(.tick, 1)
    token.cancel()
    center.post(.tick, 2)
    // The token's registration names a list, which does not keep the hub.
    #expect(NotificationHub.existing(center) == nil)
    let again = center.observe(.tick) { [heard] in heard.record($0.number) }
    center.post(.tick, 3)
    withExtendedLifetime(again) {}
    #expect(heard.values == [1, 3])
  }

  @Test("K1 observers come and go while others post", arguments: [1, 2, 8])
  func churn(width: Int) {
    let center = NotificationCenter()
    let missed = Recorder<Int>()
    onThreads(width) { thread in
      let name = Notification.Name("\(thread % 2)")
      for number in 0..<200 {
        let own = Recorder<Int>()
        let value = thread * 1_000 + number
        let token = center.observe(name) { if $0.number == value { own.record(value) } }
        center.post(name, value)
        if own.values != [value] { missed.record(value) }
        token.cancel()
        center.post(name, value)
        if own.values != [value] { missed.record(-value) }
      }
    }
    #expect(missed.values == [])
  }

  @Test("K16 many names leave nothing behind")
  func manyNames() {
    let center = NotificationCenter()
    for number in 0..<1_000 {
      let token = center.observe(Notification.Name("\(number)")) { _ in }
      token.cancel()
    }
    let token = center.observe(.tick) { [heard] in heard.record($0.number) }
    center.post(.tick, 1)
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
    #expect(center.registrations.count == 1)
  }
}
