import Campanile
import CampanileNotificationCenter
import CampanileRelay
import Foundation
import TestSupport
import Testing

import class CampanileNotificationCenter.NotificationCenter

@Suite("Distributed notifications", .ownThread, .timeLimit(.long))
struct DistributedCenterTests {
  private let bus = Bus()
  private let heard = Recorder<String>(timeout: patience)

  @Test("What one center posts, each center on the bus receives, its own one too, in order")
  func reach() async throws {
    let (one, two) = (try await bus.makeCenter(), try await bus.makeCenter())
    let others = Recorder<String>(timeout: patience)
    one.record(.track, nil, heard)
    two.record(.track, nil, others)
    for number in 1...100 { one.post(.track, "screen", number) }
    let expected = (1...100).map { "\(Notification.Name.track.rawValue) screen \($0)" }
    #expect(try await heard.next(100) == expected)
    #expect(try await others.next(100) == expected)
    two.post(.track, nil, 101)
    #expect(try await heard.next() == "\(Notification.Name.track.rawValue) - 101")
    #expect(try await others.next() == "\(Notification.Name.track.rawValue) - 101")
  }

  @Test("The centers on one relay hear each other, and each an answer after its question")
  func sharedRelay() async throws {
    let (one, far) = (try await bus.makeCenter(), try await bus.makeCenter())
    var two: DistributedCenter? = DistributedCenter(one.relay)
    let (others, fars) = (
      Recorder<String>(timeout: patience), Recorder<String>(timeout: patience)
    )
    one.record(nil, nil, heard)
    two?.record(nil, nil, others)
    far.record(nil, nil, fars)
    let answering = one.addObserver(forName: .level, object: nil, queue: nil) {
      [weak one] _ in one?.post(name: .end, object: "answer")
    }
    one.post(name: .level, object: nil)
    let answered = ["LevelChanged -", "End answer"]
    #expect(try await heard.next(2) == answered)
    #expect(try await others.next(2) == answered)
    #expect(try await fars.next(2) == answered)
    far.post(.end, nil, 3)
    #expect(try await heard.next() == "End - 3")
    #expect(try await others.next() == "End - 3")
    #expect(try await fars.next() == "End - 3")
    let tracker = LeakTracker()
    if let two { tracker.track(two) }
    two = nil
    try await tracker.expectGone(within: patience)
    one.post(name: .end, object: nil)
    #expect(try await heard.next() == "End -")
    #expect(others.count == 3)
    withExtendedLifetime(answering) {}
  }

  @Test("A post that nobody observes here waits nowhere") @MainActor
  func unobserved() async throws {
    let center = try await bus.makeCenter()
    // The main queue makes no delivery before this function suspends.
    center.post(.level, nil, 1)
    center.record(nil, nil, heard)
    center.post(.level, nil, 2)
    #expect(try await heard.next() == "LevelChanged - 2")
    #expect(heard.count == 1)
  }

  @Test("An observer names a name, an object, both or neither", arguments: [true, false])
  func filters(isOwn: Bool) async throws {
    let (one, two) = (try await bus.makeCenter(), try await bus.makeCenter())
    let recorders = (0..<4).map { _ in Recorder<String>(timeout: patience) }
    two.record(.level, "a", recorders[0])
    two.record(.level, nil, recorders[1])
    two.record(nil, "a", recorders[2])
    two.record(nil, nil, recorders[3])
    let poster = isOwn ? two : one
    poster.post(.level, "a", 1)
    poster.post(.level, "b", 2)
    poster.post(.end, "a", 3)
    poster.post(.level, nil, 4)
    poster.post(.level, "a", 5)
    let (level, end) = (Notification.Name.level.rawValue, Notification.Name.end.rawValue)
    let all = ["\(level) a 1", "\(level) b 2", "\(end) a 3", "\(level) - 4", "\(level) a 5"]
    #expect(try await recorders[3].next(5) == all)
    #expect(recorders[0].values == [all[0], all[4]])
    #expect(recorders[1].values == [all[0], all[1], all[3], all[4]])
    #expect(recorders[2].values == [all[0], all[2], all[4]])
  }

  @Test("The user info is a property list, of which each process has a copy")
  func userInfo() async throws {
    let (one, two) = (try await bus.makeCenter(), try await bus.makeCenter())
    let passed = Recorder<Bool>(timeout: patience)
    let date = Date(timeIntervalSince1970: 1_000)
    let inner = NSMutableDictionary(dictionary: ["key": "before"])
    for center in [one, two] {
      _ = center.addObserver(forName: .track, object: nil, queue: nil) { notification in
        let info = notification.userInfo ?? [:]
        passed.record(info["text"] as? String == "Süd")
        passed.record(info["number"] as? Int == -5 && info["fraction"] as? Double == 0.5)
        passed.record(info["truth"] as? Bool == true && info["small"] as? UInt8 == 200)
        passed.record(info["date"] as? Date == date && info["data"] as? Data == Data([1, 2]))
        passed.record(info["list"] as? [String] == ["a", "b"])
        passed.record((info["inner"] as? [String: Any])?["key"] as? String == "before")
        passed.record(info.count == 9)
      }
    }
    one.postNotificationName(
      .track, object: nil,
      userInfo: [
        "text": "Süd", "number": -5, "fraction": 0.5, "truth": true, "small": UInt8(200),
        "date": date, "data": Data([1, 2]), "list": ["a", "b"], "inner": inner,
      ] as [String: Any])
    inner["key"] = "after"
    #expect(try await passed.next(14).allSatisfy { $0 })
  }

  @Test("What a relay cannot carry reaches nobody, and is reported as refused, with the reason")
  func refused() async throws {
    let (one, two) = (try await bus.makeCenter(), try await bus.makeCenter())
    let events = Recorder<RelayEvent>(timeout: patience)
    let token = one.relay.events.observe { events.record($0) }
    let others = Recorder<String>(timeout: patience)
    one.record(nil, nil, heard)
    two.record(nil, nil, others)
    let infos: [([AnyHashable: Any], String)] = [
      (
        ["list": ["a", DistributedScreen()] as [Any]],
        "userInfo[\"list\"][1] is a DistributedScreen"
      ),
      (["set": Set([1])], "userInfo[\"set\"] is a Set<Int>"),
      ([5: "five"], "userInfo has a key that is a Int"),
      (["inner": [1: "one"]], "userInfo[\"inner\"] has a key that is a Int"),
      (["none": String?.none as Any], "userInfo[\"none\"] is a Optional<String>"),
      (["long": Data(count: 1 << 20)], "a relay carries 1048576 at the most"),
    ]
    for (info, reason) in infos {
      one.postNotificationName(.level, object: nil, userInfo: info)
      let event = try await events.next()
      #expect(event.kind == .refused)
      #expect(event.subject == "notification.LevelChanged")
      #expect(event.reason.contains(reason))
    }
    one.post(name: Notification.Name(String(repeating: "a", count: 1 << 16)), object: nil)
    let event = try await events.next()
    #expect(event.kind == .refused)
    #expect(event.reason.contains("A notification has a name of 65549 bytes"))
    one.post(name: .end, object: nil)
    #expect(try await heard.next() == "End -")
    #expect(try await others.next() == "End -")
    withExtendedLifetime(token) {}
  }

  @Test("What comes and is no notification is reported as undecodable, if somebody wants its name")
  func undecodable() async throws {
    let (one, relay) = (try await bus.makeCenter(), try await bus.makeRelay())
    let events = Recorder<RelayEvent>(timeout: patience)
    let token = one.relay.events.observe { events.record($0) }
    one.record(.level, nil, heard)
    relay.post(raw: [1, 2, 3], to: "notification.Unwanted")
    let lists: [Any] = [
      ["name": 5], ["name": "LevelChanged", "object": 5],
      ["name": "LevelChanged", "userInfo": "none"], ["name": "LevelChanged", "options": "none"],
      ["LevelChanged"],
    ]
    relay.post(raw: [1, 2, 3], to: "notification.LevelChanged")
    for list in lists {
      relay.post(raw: try bytes(of: list, .binary), to: "notification.LevelChanged")
    }
    let wanted = ["name": "LevelChanged"]
    relay.post(raw: try bytes(of: wanted, .xml), to: "notification.LevelChanged")
    // Without counting its values, decoding this fills the memory.
    for handmade in [ReferringList.ofManyValues, ReferringList.ofItself] {
      relay.post(raw: handmade, to: "notification.LevelChanged")
    }
    relay.post(raw: try bytes(of: wanted, .binary), to: "notification.LevelChanged")
    #expect(try await heard.next() == "LevelChanged -")
    let reported = try await events.next(lists.count + 4)
    #expect(reported.allSatisfy { $0.kind == .undecodable })
    #expect(reported.allSatisfy { $0.subject == "notification.LevelChanged" })
    #expect(reported.allSatisfy { $0.sender?.name == "relay" })
    withExtendedLifetime(token) {}

    func bytes(
      of list: Any, _ format: PropertyListSerialization.PropertyListFormat
    ) throws -> [UInt8] {
      [UInt8](
        try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0))
    }
  }

  @Test("Observers are called on the main queue, or on their queue, which nobody waits for")
  func places() async throws {
    let center = try await bus.makeCenter()
    let main = Recorder<Bool>(timeout: patience)
    let queued = Recorder<Bool>(timeout: patience)
    let (queue, gate) = (SerialOperationQueue(), Gate())
    _ = center.addObserver(forName: .level, object: nil, queue: queue) { _ in
      gate.pass()
      queued.record(OperationQueue.current === queue)
    }
    _ = center.addObserver(forName: .level, object: nil, queue: nil) { _ in
      main.record(Delivery.queue(.main).isCurrent)
    }
    center.post(name: .level, object: nil)
    #expect(try await main.next())
    gate.open()
    #expect(try await queued.next())
  }

  @Test("K6 an observer on a queue of many threads is called in order, one call at a time")
  func concurrentQueue() async throws {
    let center = try await bus.makeCenter()
    let (numbers, overlaps) = (Recorder<Int>(timeout: patience), OverlapDetector())
    _ = center.addObserver(forName: .level, object: nil, queue: OperationQueue()) { notification in
      overlaps.run { numbers.record(notification.userInfo?["number"] as? Int ?? 0) }
    }
    for number in 1...1_000 { center.post(.level, nil, number) }
    #expect(try await numbers.next(1_000) == Array(1...1_000))
    #expect(!overlaps.hasOverlapped)
  }

  @Test("K5 an observer on the main operation queue has its place among those without a queue")
  func mainQueue() async throws {
    let center = try await bus.makeCenter()
    for (place, queue) in [("main", OperationQueue.main), ("none", nil), ("main", .main)] {
      _ = center.addObserver(forName: .level, object: nil, queue: queue) { [heard] _ in
        heard.record(place)
      }
    }
    center.post(name: .level, object: nil)
    #expect(try await heard.next(3) == ["main", "none", "main"])
  }

  @Test("A notification that was forwarded is posted with the user info that it came with")
  func forwarded() async throws {
    let (ours, theirs) = (NotificationCenter(), Foundation.NotificationCenter())
    let center = try await bus.makeCenter()
    _ = center.addObserver(forName: .level, object: nil, queue: nil) { [heard] notification in
      heard.record("\(summary(notification)), \(notification.userInfo?.count ?? 0) entry")
    }
    let forwarding = ours.forwardNotifications(of: .level, to: theirs)
    let posting = theirs.addObserver(forName: .level, object: nil, queue: nil) { notification in
      center.post(name: notification.name, object: nil, userInfo: notification.userInfo)
    }
    ours.post(name: .level, object: nil, userInfo: ["number": 1])
    #expect(try await heard.next() == "LevelChanged - 1, 1 entry")
    theirs.removeObserver(posting)
    withExtendedLifetime(forwarding) {}
  }

  @Test("A center that is released before its notification is delivered delivers nothing")
  @MainActor
  func releasedBefore() async throws {
    var center: DistributedCenter? = try await bus.makeCenter()
    center?.record(.level, nil, heard)
    center?.post(name: .level, object: nil)
    center = nil
    await withCheckedContinuation { continuation in
      DispatchQueue.main.async { continuation.resume() }
    }
    #expect(heard.values.isEmpty)
  }
}
