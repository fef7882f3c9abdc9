import Campanile
import CampanileNotificationCenter
import CampanileRelay
import Foundation
import TestSupport
import Testing

@Suite("Suspended distributed notifications", .ownThread, .timeLimit(.long))
struct SuspensionTests {
  private let center = DistributedCenter(
    Relay(.loopback("\(UInt64.random(in: 0 ... .max))"), name: "center"))
  private let heard = Recorder<String>(timeout: patience)

  private func makeScreen(
    _ name: String, _ behavior: DistributedCenter.SuspensionBehavior,
    of notification: Notification.Name? = .level
  ) -> DistributedScreen {
    let screen = DistributedScreen(name + " ", heard)
    center.addObserver(
      screen, selector: DistributedScreen.receive, name: notification, object: nil,
      suspensionBehavior: behavior)
    return screen
  }

  /// Waits until what was posted before has been looked at.
  private func settle() async throws {
    let done = Recorder<String>(timeout: patience)
    let screen = DistributedScreen("", done)
    center.addObserver(screen, selector: DistributedScreen.receive, name: .end, object: nil)
    center.postNotificationName(.end, object: nil, deliverImmediately: true)
    try await done.next()
    center.removeObserver(screen)
  }

  @Test("What arrives is dropped, coalesced by name and object, or held, and delivered in order")
  func behaviors() async throws {
    let screens = [
      makeScreen("drop", .drop), makeScreen("coalesce", .coalesce, of: nil),
      makeScreen("hold", .hold),
    ]
    #expect(!center.suspended)
    center.suspended = true
    #expect(center.suspended)
    center.post(.level, "a", 1)
    center.post(.level, "b", 2)
    center.post(.level, "a", 3)
    center.post(.track, "a", 4)
    try await settle()
    // The last one of the sentinel's name went at once.
    #expect(heard.values == ["coalesce End -"])
    center.suspended = false
    center.post(.level, "a", 5)
    let track = Notification.Name.track.rawValue
    #expect(
      try await heard.next(10) == [
        "coalesce End -", "hold LevelChanged a 1", "coalesce LevelChanged b 2",
        "hold LevelChanged b 2", "coalesce LevelChanged a 3", "hold LevelChanged a 3",
        "coalesce \(track) a 4", "drop LevelChanged a 5", "coalesce LevelChanged a 5",
        "hold LevelChanged a 5",
      ])
    try await settle()
    #expect(heard.count == 11)
    withExtendedLifetime(screens) {}
  }

  @Test("A block observer coalesces, and so does a method for which nothing is said")
  func defaultBehavior() async throws {
    center.record(.level, nil, heard)
    let screen = DistributedScreen("method ", heard)
    center.addObserver(screen, selector: DistributedScreen.receive, name: .level, object: nil)
    center.suspended = true
    for number in 1...3 { center.post(.level, nil, number) }
    try await settle()
    #expect(heard.values.isEmpty)
    center.suspended = false
    #expect(try await heard.next(2) == ["LevelChanged - 3", "method LevelChanged - 3"])
    try await settle()
    #expect(heard.count == 2)
  }

  @Test(
    "A post that is to be delivered immediately reaches all, and what is held remains held",
    arguments: [true, false])
  func immediatePost(isForeign: Bool) async throws {
    let bus = Bus()
    let (one, two) = (try await bus.makeCenter(), try await bus.makeCenter())
    let behaviors: [DistributedCenter.SuspensionBehavior] = [.drop, .coalesce, .hold]
    let screens = behaviors.map { DistributedScreen("\($0) ", heard) }
    for (screen, behavior) in zip(screens, behaviors) {
      one.addObserver(
        screen, selector: DistributedScreen.receive, name: .level, object: nil,
        suspensionBehavior: behavior)
    }
    one.suspended = true
    let poster = isForeign ? two : one
    // To all sessions is to the one that there is.
    poster.postNotificationName(
      .level, object: nil, userInfo: ["number": 1], options: .postToAllSessions)
    poster.postNotificationName(
      .level, object: nil, userInfo: ["number": 2], deliverImmediately: true)
    #expect(
      try await heard.next(3) == [
        "drop LevelChanged - 2", "coalesce LevelChanged - 2", "hold LevelChanged - 2",
      ])
    poster.postNotificationName(
      .level, object: nil, userInfo: ["number": 3],
      options: [.deliverImmediately, .postToAllSessions])
    try await heard.next(3)
    one.suspended = false
    #expect(try await heard.next(2) == ["coalesce LevelChanged - 1", "hold LevelChanged - 1"])
    withExtendedLifetime(screens) {}
  }

  @Test("Options that are not known have no effect")
  func unknownOptions() async throws {
    let screen = makeScreen("drop", .drop)
    center.suspended = true
    let immediate = DistributedCenter.Options.deliverImmediately
    center.postNotificationName(
      .level, object: "unknown", options: .init(rawValue: .max).subtracting(immediate))
    center.postNotificationName(.level, object: "all", options: .init(rawValue: .max))
    #expect(try await heard.next() == "drop LevelChanged all")
    withExtendedLifetime(screen) {}
  }

  @Test("An observer that is delivered to immediately has what is held delivered first")
  func immediateObserver() async throws {
    let screens = [
      makeScreen("hold", .hold), makeScreen("drop", .drop, of: nil),
      makeScreen("immediate", .deliverImmediately, of: .track),
    ]
    center.suspended = true
    center.post(.level, nil, 1)
    center.post(.track, nil, 2)
    let track = Notification.Name.track.rawValue
    #expect(
      try await heard.next(3) == [
        "hold LevelChanged - 1", "drop \(track) - 2", "immediate \(track) - 2",
      ])
    // It is suspended as before.
    center.post(.level, nil, 3)
    center.post(.track, nil, 4)
    #expect(
      try await heard.next(3) == [
        "hold LevelChanged - 3", "drop \(track) - 4", "immediate \(track) - 4",
      ])
    withExtendedLifetime(screens) {}
  }

  @Test("What is held is delivered if the center is suspended again at once, before what arrives")
  func suspendedAgain() async throws {
    let screen = makeScreen("hold", .hold)
    center.suspended = true
    center.post(.level, nil, 1)
    try await settle()
    center.suspended = false
    center.suspended = true
    center.post(.level, nil, 2)
    #expect(try await heard.next() == "hold LevelChanged - 1")
    try await settle()
    #expect(heard.count == 1)
    center.suspended = false
    #expect(try await heard.next() == "hold LevelChanged - 2")
    withExtendedLifetime(screen) {}
  }

  @Test("What is held is delivered before what has arrived when the center is resumed")
  func heldComesFirst() async throws {
    let screen = makeScreen("hold", .hold)
    center.suspended = true
    center.post(.level, nil, 1)
    try await settle()
    // The main queue looks at the post after both.
    await MainActor.run {
      center.post(.level, nil, 2)
      center.suspended = false
    }
    #expect(try await heard.next(2) == ["hold LevelChanged - 1", "hold LevelChanged - 2"])
    withExtendedLifetime(screen) {}
  }

  @Test("A thousand are held; then all are delivered, though the center is suspended")
  func full() async throws {
    let screen = makeScreen("hold", .hold)
    center.suspended = true
    for number in 1...999 { center.post(.level, nil, number) }
    try await settle()
    #expect(heard.values.isEmpty)
    center.post(.level, nil, 1_000)
    #expect(
      try await heard.next(1_000) == (1...1_000).map { "hold LevelChanged - \($0)" })
    withExtendedLifetime(screen) {}
  }

  @Test("An observer that is removed receives nothing of what is held for it")
  func removedWhileHeld() async throws {
    let removed = makeScreen("removed", .hold)
    var ended: DistributedScreen? = makeScreen("ended", .hold)
    let screen = makeScreen("hold", .hold)
    center.suspended = true
    center.post(.level, nil, 1)
    try await settle()
    center.removeObserver(removed)
    withExtendedLifetime(ended) {}
    ended = nil
    center.suspended = false
    #expect(try await heard.next() == "hold LevelChanged - 1")
    try await settle()
    #expect(heard.count == 1)
    withExtendedLifetime(screen) {}
  }
}
