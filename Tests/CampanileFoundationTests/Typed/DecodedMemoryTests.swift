import Campanile
import Foundation
import Testing

@testable import CampanileFoundation

@Suite("Notifications that are decoded where they are posted", .ownThread, .bothCenters)
struct DecodedMemoryTests {
  private let center = makeCenter()

  private func post(_ live: LiveCount) {
    center.post(
      name: Ended.notificationName, object: Tracked(live),
      userInfo: ["number": 1, "more": Tracked(live)])
  }

  @Test("K16 where all are given what was decoded, nothing is kept of a notification")
  func decodedOnly() {
    let (target, heard, live) = (ManualTarget(), Recorder<Int>(), LiveCount())
    let tokens = [
      center.notifications(of: Ended.self).observe(on: .target(target)) { heard.record($0.number) },
      center.notifications(of: Ended.descriptor).observe(on: .target(target)) {
        heard.record($0.number)
      },
    ]
    let values = center.notifications(of: Ended.self).values()
    post(live)
    #expect(live.current == 0)
    target.runJobs()
    #expect(heard.values == [1, 1])
    withExtendedLifetime((tokens, values)) {}
  }

  @Test(
    "K16 beside an observer of the notification itself it is kept until that has been called",
    arguments: [false, true], [nil, Ended.notificationName])
  func read(isFirst: Bool, name: Notification.Name?) {
    let (target, heard, live) = (ManualTarget(), Recorder<Int>(), LiveCount())
    func observeAsItIs() -> ObservationToken {
      center.observe(name, on: .target(target)) { heard.record($0.number * 10) }
    }
    let early = isFirst ? observeAsItIs() : nil
    let token = center.notifications(of: Ended.self).observe(on: .target(target)) {
      heard.record($0.number)
    }
    let late = isFirst ? nil : observeAsItIs()
    post(live)
    #expect(live.current == 2)
    target.runJobs()
    #expect(live.current == 0)
    // Observers of all names are called in their own order.
    #expect(name == nil ? heard.count == 2 : heard.values == (isFirst ? [10, 1] : [1, 10]))
    withExtendedLifetime((early, token, late)) {}
  }

  @Test("A reader that begins while a decoder runs, through a later feed, receives everything")
  func readsWhileDecoding() {
    let (target, heard) = (ManualTarget(), Recorder<Int>())
    let tokens = Locked<[ObservationToken]>([])
    let inside = Locked(false)
    let descriptor = NotificationDescriptor<Int>(.tick) { [center] notification in
      let isFirst = inside.withLock { flag in
        defer { flag = true }
        return !flag
      }
      if isFirst {
        // The last observer ends, and a post that nobody hears ends the feed.
        for token in tokens.withLock({ all in
          defer { all = [] }; return all
        }) { token.cancel() }
        center.post(name: .tick, object: nil, userInfo: ["number": 7])
        let reader = center.observe(.tick, on: .target(target)) { heard.record($0.number) }
        tokens.withLock { $0 = [reader] }
      }
      return 1
    }
    let token = center.notifications(of: descriptor).observe { _ in }
    tokens.withLock { $0 = [token] }
    center.post(name: .tick, object: nil, userInfo: ["number": 3])
    target.runJobs()
    #expect(heard.values == [3] || heard.values == [])
    #expect(heard.count == 1)
    withExtendedLifetime(token) {}
  }

  @Test(
    "K1 who begins to read while typed observers come and go finds all of a notification",
    arguments: [2, 8])
  func readers(width: Int) {
    let empty = Recorder<Int>()
    onThreads(width) { [center] thread in
      for number in 0..<300 {
        if thread % 2 == 0 {
          let target = ManualTarget()
          let token = center.observe(Ended.notificationName, on: .target(target)) {
            if $0.number < 0 { empty.record(number) }
          }
          center.post(Ended(number: number))
          target.runJobs()
          withExtendedLifetime(token) {}
        } else {
          let token = center.notifications(of: Ended.self).observe(on: .queue(.main).ordered) { _ in
          }
          center.post(Ended(number: number))
          token.cancel()
          center.post(Ended(number: number))
        }
      }
    }
    #expect(empty.values == [])
  }
}
