#if canImport(Glibc)
  import CampanileRelay
  import Campanile
  import CampanileFoundation
  import Foundation
  import Testing

  @testable import CampanileNotificationCenter

  /// Live bytes of the replacement, each test in a process of its own.
  @Suite("Live bytes of the replacement", .serialized)
  struct ReplacementMemoryTests {
    /// What observers come and go about.
    enum Subject: Codable, CaseIterable, Sendable {
      case name, names, object, objects, value, values, everything, objectOfAnyName, valueOfAnyName

      func use(_ center: CampanileNotificationCenter.NotificationCenter, _ bell: Bell, _ round: Int)
      {
        let token =
          switch self {
          case .name: center.add(.tick) { _ in }
          case .names: center.add(Notification.Name("\(round % 10_000)")) { _ in }
          case .object: center.add(.tick, bell) { _ in }
          case .objects: center.add(.tick, Bell()) { _ in }
          case .value: center.add(.tick, 5) { _ in }
          case .values: center.add(.tick, round) { _ in }
          case .everything: center.add(nil) { _ in }
          case .objectOfAnyName: center.add(nil, bell) { _ in }
          case .valueOfAnyName: center.add(nil, round) { _ in }
          }
        center.removeObserver(token)
      }
    }

    @Test("K16 Posts from one queue to another leave nothing")
    func queueToQueue() async {
      await #expect(processExitsWith: .success) {
        let center = CampanileNotificationCenter.NotificationCenter()
        let (one, other) = (SerialOperationQueue(), SerialOperationQueue())
        let token = center.addObserver(forName: .tick, object: nil, queue: other) { _ in }
        func rounds(_ count: Int) {
          one.addOperation { for _ in 0..<count { center.post(name: .tick, object: nil) } }
          one.waitUntilAllOperationsAreFinished()
        }
        rounds(1_000)
        #expect(liveBytes > 0)
        // An operation may still be released meanwhile.
        let growths = (1...3).map { _ in
          let before = liveBytes
          rounds(3_000)
          return liveBytes - before
        }
        #expect(growths.contains { $0 < 64 * 1_024 }, "\(growths)")
        withExtendedLifetime(token) {}
      }
    }

    @Test("K16 Distributed centers that have ended leave nothing")
    func endedCenters() async {
      await #expect(processExitsWith: .success) {
        let relay = Relay(.loopback("xn8"))
        let lasting = DistributedCenter(relay)
        func rounds(_ count: Int) { for _ in 0..<count { _ = DistributedCenter(relay) } }
        rounds(1_000)
        let before = liveBytes
        rounds(20_000)
        #expect(before > 0)
        // Thirteen bytes a round: a thread of the relay may keep a buffer of its own.
        #expect(liveBytes - before < 256 * 1_024, "\(liveBytes - before)")
        withExtendedLifetime((relay, lasting)) {}
      }
    }

    @Test(
      "K16 Live bytes after some rounds and several times as many differ by less than 64 KiB",
      arguments: Subject.allCases)
    func rounds(subject: Subject) async {
      await #expect(processExitsWith: .success) { [subject = subject as Subject] in
        #if DEBUG
          let (early, late) = (
            Effort.times(2_000, long: 10_000), Effort.times(12_000, long: 100_000)
          )
        #else
          let (early, late) = (100_000, 1_000_000)
        #endif
        let (center, bell) = (CampanileNotificationCenter.NotificationCenter(), Bell())
        // Observers that stay, so that the tables do.
        center.add(.tick, bell) { _ in }
        center.add(nil, 5) { _ in }
        for round in 0..<early { subject.use(center, bell, round) }
        let before = liveBytes
        for round in early..<late { subject.use(center, bell, round) }
        #expect(before > 0)
        #expect(abs(liveBytes - before) < 64 * 1_024)
        #expect(center.registrations.count == 2)
        #expect(center.values.count == 1)
      }
    }
  }
#endif
