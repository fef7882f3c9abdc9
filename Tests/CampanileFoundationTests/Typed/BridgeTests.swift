import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Bridging message centers and Foundation centers", .ownThread)
struct BridgeTests {
  private let messages = MessageCenter()
  private let notifications = NotificationCenter()
  private let heard = Recorder<String>()

  private func listen(
    to messages: MessageCenter, _ notifications: NotificationCenter, _ label: String = ""
  ) -> [ObservationToken] {
    [
      messages.observe(Rung.self) { [heard] in heard.record("message \($0.number)" + label) },
      notifications.notifications(of: Rung.self).observe { [heard] in
        heard.record("notification \($0.number)" + label)
      },
    ]
  }

  @Test("I what is posted in one center is heard once in each", arguments: [1, 2, 8])
  func bothWays(width: Int) {
    let bridge = NotificationBridge(between: messages, and: notifications)
    bridge.carry(Rung.self)
    let tokens = listen(to: messages, notifications)
    onThreads(width) { [messages, notifications] thread in
      for number in 0..<100 {
        messages.post(Rung(number: thread * 1_000 + number))
        notifications.post(Rung(number: thread * 1_000 + number + 500))
      }
    }
    withExtendedLifetime((bridge, tokens)) {}
    var expected: [String] = []
    for thread in 0..<width {
      for number in 0..<100 {
        for value in [thread * 1_000 + number, thread * 1_000 + number + 500] {
          expected += ["message \(value)", "notification \(value)"]
        }
      }
    }
    #expect(heard.values.sorted() == expected.sorted())
  }

  @Test("A type is carried in the direction that was asked for, and no more once stopped")
  func directions() {
    let bridge = NotificationBridge(between: messages, and: notifications)
    let tokens = listen(to: messages, notifications)
    func post() -> [String] {
      let before = heard.count
      messages.post(Rung(number: 1))
      notifications.post(Rung(number: 2))
      return heard.values.dropFirst(before).sorted()
    }
    let own = ["message 1", "notification 2"]
    #expect(post() == own)
    bridge.carry(Rung.self, .toNotifications)
    #expect(post() == ["message 1", "notification 1", "notification 2"])
    bridge.carry(Rung.self, .toMessages)
    #expect(post() == ["message 1", "message 2", "notification 2"])
    bridge.carry(Rung.self, .bothWays)
    #expect(post().count == 4)
    bridge.carry(Rung.self, .toNotifications)
    #expect(post() == ["message 1", "notification 1", "notification 2"])
    #expect(notifications.registrations.count == 1)
    bridge.carry(Rung.self, .bothWays)
    bridge.carry(Rung.self, .toMessages)
    #expect(post() == ["message 1", "message 2", "notification 2"])
    #expect(messages.observerCount == 1)
    bridge.carry(Rung.self, .bothWays)
    bridge.stopCarrying(Rung.self)
    #expect(post() == own)
    #expect(messages.observerCount == 1 && notifications.registrations.count == 1)
    bridge.carry(Rung.self)
    bridge.cancel()
    #expect(post() == own)
    #expect(messages.observerCount == 1 && notifications.registrations.count == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("The subject is the object, and an object of another type is left behind")
  func subject() {
    let bridge = NotificationBridge(between: messages, and: notifications)
    bridge.carry(Rung.self)
    let bell = Bell()
    let tokens = [
      messages.messages(of: Rung.self, about: bell).observe { [heard] in
        heard.record("about \($0.number)")
      },
      notifications.notifications(of: Rung.self, object: bell).observe { [heard] in
        heard.record("object \($0.number)")
      },
      messages.messages(of: Rung.self).withSubject.observe { [heard] posted in
        heard.record("\(posted.message.number) \(posted.subject === bell)")
      },
    ]
    messages.post(Rung(number: 1), about: bell)
    notifications.post(Rung(number: 2), object: bell)
    notifications.post(Rung(number: 3), object: Screen())
    withExtendedLifetime((bridge, tokens)) {}
    #expect(
      heard.values.sorted()
        == ["1 true", "2 true", "3 false", "about 1", "about 2", "object 1", "object 2"])
  }

  @Test("What an observer posts while a message is carried is carried too", arguments: [1, 2, 8])
  func nested(width: Int) {
    onThreads(width) { _ in
      let (messages, notifications) = (MessageCenter(), NotificationCenter())
      let heard = Recorder<Int>()
      let tokens = [
        messages.observe(Rung.self) { [messages] in
          if $0.number == 1 { messages.post(Rung(number: 2)) }
          if $0.number == 10 { messages.post(Rung(number: 11)) }
        },
        notifications.notifications(of: Rung.self).observe { [notifications] in
          if $0.number == 1 { notifications.post(Rung(number: 3)) }
          if $0.number == 10 { notifications.post(Rung(number: 12)) }
        },
      ]
      let bridge = NotificationBridge(between: messages, and: notifications)
      bridge.carry(Rung.self)
      let others = [
        messages.observe(Rung.self) { heard.record($0.number) },
        notifications.notifications(of: Rung.self).observe { heard.record(-$0.number) },
      ]
      messages.post(Rung(number: 1))
      notifications.post(Rung(number: 10))
      withExtendedLifetime((bridge, tokens, others)) {}
      #expect(heard.values.sorted() == [-12, -11, -10, -3, -2, -1, 1, 2, 3, 10, 11, 12])
    }
  }

  @Test("Nothing comes back along a ring of bridges")
  func ring() {
    let (otherMessages, otherNotifications) = (MessageCenter(), NotificationCenter())
    let bridges = [
      NotificationBridge(between: messages, and: notifications),
      NotificationBridge(between: otherMessages, and: notifications),
      NotificationBridge(between: otherMessages, and: otherNotifications),
      NotificationBridge(between: messages, and: otherNotifications),
    ]
    // Three sides of the ring: every center is reached by one way.
    for bridge in bridges.dropLast() { bridge.carry(Rung.self) }
    let tokens =
      listen(to: messages, notifications) + listen(to: otherMessages, otherNotifications, " other")
    let everywhere = [
      "message 1", "message 1 other", "notification 1", "notification 1 other",
    ]
    messages.post(Rung(number: 1))
    #expect(heard.values.sorted() == everywhere)
    otherNotifications.post(Rung(number: 1))
    #expect(heard.values.dropFirst(4).sorted() == everywhere)
    // Closed, a message goes around both ways, and each stops before it would come back.
    bridges[3].carry(Rung.self)
    messages.post(Rung(number: 1))
    #expect(
      heard.values.dropFirst(8).sorted() == [
        "message 1", "message 1 other", "message 1 other", "notification 1", "notification 1",
        "notification 1 other", "notification 1 other",
      ])
    withExtendedLifetime((bridges, tokens)) {}
  }

  @Test("A message that is posted while the direction changes is carried once")
  func changedMeanwhile() {
    let bridge = NotificationBridge(between: messages, and: notifications)
    bridge.carry(Hooked.self)
    let tokens = [
      messages.observe(Hooked.self) { [heard] _ in heard.record("message") },
      notifications.observe(Hooked.notificationName) { [heard] _ in heard.record("notification") },
    ]
    // The name is asked for in the middle of the change.
    Hooked.whenNamed.set { [messages, notifications] in
      Hooked.whenNamed.set(nil)
      messages.post(Hooked())
      notifications.post(Notification(name: Notification.Name("Hooked")))
    }
    bridge.carry(Hooked.self, .toNotifications)
    bridge.carry(Hooked.self, .bothWays)
    #expect(Hooked.whenNamed.value == nil)
    withExtendedLifetime((bridge, tokens)) {}
    // Messages are carried throughout, notifications until and from some moment.
    #expect(heard.values.count { $0 == "notification" } == 2)
    #expect((1...2).contains(heard.values.count { $0 == "message" }))
  }

  @Test("However many open a way at once, a message is carried once", arguments: [2, 8])
  func openedAtOnce(width: Int) {
    for _ in 0..<50 {
      let (messages, notifications) = (MessageCenter(), NotificationCenter())
      let (bridge, heard) = (
        NotificationBridge(between: messages, and: notifications), Recorder<Int>()
      )
      let tokens = [
        messages.observe(Rung.self) { heard.record($0.number) },
        notifications.notifications(of: Rung.self).observe { heard.record(-$0.number) },
      ]
      onThreads(width) { thread in
        bridge.carry(Rung.self)
        messages.post(Rung(number: thread + 1))
        notifications.post(Rung(number: thread + 101))
      }
      let posted = (1...width).flatMap { [$0, $0 + 100] }
      #expect(heard.values.sorted() == (posted.map { -$0 } + posted).sorted())
      #expect(notifications.registrations.count == 2 && messages.observerCount == 2)
      withExtendedLifetime((bridge, tokens)) {}
    }
  }

  @Test("A carried notification that is posted again as it came is not carried back")
  func postedAgain() {
    let bridge = NotificationBridge(between: messages, and: notifications)
    bridge.carry(Rung.self)
    let tokens = listen(to: messages, notifications)
    let kept = Slot<PostedNotification>()
    let keeping = notifications.observe(Rung.notificationName) { kept.set($0) }
    messages.post(Rung(number: 1))
    keeping.cancel()
    #expect(heard.values.sorted() == ["message 1", "notification 1"])
    var again = kept.value!.notification
    notifications.post(again)
    #expect(heard.values.dropFirst(2) == ["notification 1"])
    again.userInfo?[NotificationBridge.pathKey] = nil
    notifications.post(again)
    #expect(heard.values.dropFirst(3).sorted() == ["message 1", "notification 1"])
    withExtendedLifetime((bridge, tokens)) {}
  }

  @Test("A new center is not taken for one that a notification has passed before its end")
  func reusedAddress() {
    let kept = Slot<PostedNotification>()
    let keeping = notifications.observe(Rung.notificationName) { kept.set($0) }
    for _ in 0..<100 {
      do {
        let old = MessageCenter()
        let bridge = NotificationBridge(between: old, and: notifications)
        bridge.carry(Rung.self, .toNotifications)
        old.post(Rung(number: 1))
        withExtendedLifetime(bridge) {}
      }
      let again = kept.value!.notification
      let new = MessageCenter()
      let token = new.observe(Rung.self) { [heard] in heard.record("\($0.number)") }
      let bridge = NotificationBridge(between: new, and: notifications)
      bridge.carry(Rung.self, .toMessages)
      notifications.post(again)
      withExtendedLifetime((token, bridge)) {}
    }
    #expect(heard.count == 100)
    withExtendedLifetime(keeping) {}
  }

  @Test("Later bridges between the same centers do not carry a notification back")
  func laterBridges() {
    let (first, last) = (NotificationCenter(), NotificationCenter())
    func carry(from origin: NotificationCenter, to end: NotificationCenter) -> [NotificationBridge]
    {
      let messages = MessageCenter()
      let inward = NotificationBridge(between: messages, and: origin)
      let outward = NotificationBridge(between: messages, and: end)
      inward.carry(Rung.self, .toMessages)
      outward.carry(Rung.self, .toNotifications)
      return [inward, outward]
    }
    let kept = Slot<PostedNotification>()
    do {
      let keeping = last.observe(Rung.notificationName) { kept.set($0) }
      let bridges = carry(from: first, to: last)
      first.post(Rung(number: 1))
      withExtendedLifetime((keeping, bridges)) {}
    }
    let bridges = carry(from: last, to: first)
    let token = first.notifications(of: Rung.self).observe { [heard] in
      heard.record("\($0.number)")
    }
    last.post(kept.value!.notification)
    last.post(Rung(number: 2))
    #expect(heard.values == ["2"])
    withExtendedLifetime((bridges, token)) {}
  }

  @Test("H3 what cannot be decoded is not carried, and goes to the handler that was named last")
  func failure() {
    let bridge = NotificationBridge(between: messages, and: notifications)
    let token = messages.observe(Rung.self) { [heard] in heard.record("message \($0.number)") }
    for number in 1...3 {
      bridge.carry(Rung.self, number == 2 ? .toMessages : .bothWays) { [heard] in
        heard.record("\(number) \($0.valueType) \($0.file.hasSuffix("BridgeTests.swift"))")
      }
      notifications.post(name: Rung.notificationName, object: nil)
      notifications.post(Rung(number: number))
    }
    withExtendedLifetime((bridge, token)) {}
    #expect(heard.values == (1...3).flatMap { ["\($0) Rung true", "message \($0)"] })
  }

  @Test("K16 a bridge that is released carries nothing more, and leaves nothing in its centers")
  func released() {
    weak var lost: MessageCenter?
    func bridge() {
      let own = MessageCenter()
      lost = own
      let bridges = [messages, own].map { NotificationBridge(between: $0, and: notifications) }
      for bridge in bridges { bridge.carry(Rung.self) }
      notifications.post(Rung(number: 1))
      withExtendedLifetime(bridges) {}
    }
    bridge()
    #expect(lost == nil)
    #expect(messages.observerCount == 0 && notifications.registrations.isEmpty)
    let tokens = listen(to: messages, notifications)
    messages.post(Rung(number: 1))
    notifications.post(Rung(number: 2))
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["message 1", "notification 2"])
  }
}

/// A message whose name runs what a test wants.
private struct Hooked: MessageCenter.Message, TypedNotification {
  static let whenNamed = Slot<@Sendable () -> Void>()
  static var notificationName: Notification.Name {
    whenNamed.value?()
    return Notification.Name("Hooked")
  }

  init() {}
  init(from notification: Notification) {}
  var userInfo: [AnyHashable: any Sendable] { [:] }
}
