import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

@Suite("Forwarding between Foundation's center and ours", .ownThread)
struct ForwardingTests {
  private let ours = CampanileNotificationCenter.NotificationCenter()
  private let theirs = Foundation.NotificationCenter()
  private let heard = Recorder<String>()

  private func listen(_ name: Notification.Name? = nil) {
    ours.add(name) { [heard] in heard.record("ours \($0.name.rawValue) \($0.number)") }
    theirs.add(name) { [heard] in heard.record("theirs \($0.name.rawValue) \($0.number)") }
  }

  private func post(_ center: any CenterInterface, _ number: Int) {
    center.post(name: .tick, object: nil, userInfo: ["number": number])
  }

  @Test("What is posted there is heard here, as it is, before the post returns")
  func forwarded() {
    let bell = Bell()
    let token = ours.forwardNotifications(of: .tick, from: theirs)
    ours.add(.tick, bell) { [heard] in
      heard.record("\($0.number) \($0.userInfo?.count ?? 0)")
    }
    theirs.post(name: .tick, object: bell, userInfo: ["number": 1])
    theirs.post(name: .tock, object: bell, userInfo: ["number": 2])
    theirs.post(name: .tick, object: Bell(), userInfo: ["number": 3])
    withExtendedLifetime(token) {}
    #expect(heard.values == ["1 1"])
  }

  @Test("What observers post while something is forwarded is forwarded too", arguments: [1, 2, 8])
  func nested(width: Int) {
    onThreads(width) { _ in
      let ours = CampanileNotificationCenter.NotificationCenter()
      let (theirs, heard) = (Foundation.NotificationCenter(), Recorder<Int>())
      for center in [ours, theirs] as [any CenterInterface] {
        center.add(.tick) { [weak center] notification in
          if notification.number == 1 {
            center?.post(name: .tick, object: nil, userInfo: ["number": 2])
          }
        }
      }
      let tokens = [
        ours.forwardNotifications(of: .tick, from: theirs),
        ours.forwardNotifications(of: .tick, to: theirs),
      ]
      ours.add(.tick) { heard.record($0.number) }
      theirs.add(.tick) { heard.record(-$0.number) }
      ours.post(name: .tick, object: nil, userInfo: ["number": 1])
      withExtendedLifetime(tokens) {}
      // Both centers heard the first one, and each had an observer that posted a second one.
      #expect(heard.values.sorted() == [-2, -2, -1, 1, 2, 2])
    }
  }

  @Test(
    "Nothing comes back along a ring of centers, for one name and for all",
    arguments: [nil, Notification.Name.tick])
  func ring(name: Notification.Name?) {
    let others = (
      CampanileNotificationCenter.NotificationCenter(), Foundation.NotificationCenter()
    )
    let tokens = [
      ours.forwardNotifications(of: name, to: theirs),
      others.0.forwardNotifications(of: name, from: theirs),
      others.0.forwardNotifications(of: name, to: others.1),
      ours.forwardNotifications(of: name, from: others.1),
    ]
    listen(.tick)
    others.0.add(.tick) { [heard] in heard.record("other ours \($0.number)") }
    others.1.add(.tick) { [heard] in heard.record("other theirs \($0.number)") }
    for (number, center) in ([ours, theirs, others.0, others.1] as [any CenterInterface])
      .enumerated()
    {
      let before = heard.count
      post(center, number)
      #expect(
        heard.values.dropFirst(before).sorted() == [
          "other ours \(number)", "other theirs \(number)", "ours Tick \(number)",
          "theirs Tick \(number)",
        ])
    }
    withExtendedLifetime(tokens) {}
  }

  @Test("Nothing comes back to a Foundation center along two bridges")
  func twoBridges() {
    let a = Foundation.NotificationCenter(), b = Foundation.NotificationCenter(),
      c = Foundation.NotificationCenter()
    let x = CampanileNotificationCenter.NotificationCenter(),
      y = CampanileNotificationCenter.NotificationCenter(),
      z = CampanileNotificationCenter.NotificationCenter()
    let tokens = [
      x.forwardNotifications(of: .tick, from: a), x.forwardNotifications(of: .tick, to: b),
      y.forwardNotifications(of: .tick, from: b), y.forwardNotifications(of: .tick, to: c),
      z.forwardNotifications(of: .tick, from: c), z.forwardNotifications(of: .tick, to: b),
    ]
    let atB = Recorder<[Int64]>()
    b.add(.tick) { atB.record($0.userInfo?[NotificationBridge.pathKey] as? [Int64] ?? []) }
    let atC = Recorder<Int>()
    c.add(.tick) { atC.record(($0.userInfo?[NotificationBridge.pathKey] as? [Int64] ?? []).count) }
    // Once is enough to see it; without an end otherwise.
    let count = Recorder<Int>()
    x.add(.tick) { count.record($0.number) }
    a.post(name: .tick, object: nil, userInfo: ["number": 1])
    withExtendedLifetime(tokens) {}
    #expect(atB.count == 1)
    #expect(atC.values == [4])
  }

  @Test("What is posted anew with the user info that it came with does not come back")
  func postedAnew() {
    let further = Foundation.NotificationCenter()
    let other = CampanileNotificationCenter.NotificationCenter()
    let tokens = [
      ours.forwardNotifications(of: .tick, from: theirs),
      ours.forwardNotifications(of: .tick, to: further),
      other.forwardNotifications(of: .tick, to: theirs),
    ]
    let posted = Recorder<Int>()
    further.add(.tick) { notification in
      posted.record(notification.number)
      // What comes back would do so forever.
      if posted.count < 4 { other.post(notification) }
    }
    other.add(.tick) { [heard] in heard.record("other \($0.number)") }
    theirs.add(.tick) { [heard] in heard.record("theirs \($0.number)") }
    post(theirs, 1)
    withExtendedLifetime(tokens) {}
    // Foundation's center calls its observers in any order.
    #expect(heard.values.sorted() == ["other 1", "theirs 1"])
  }

  @Test("What is posted anew with archived user info does not come back")
  func archived() throws {
    let copies = Recorder<Int>()
    let tokens = [
      ours.forwardNotifications(of: .tick, from: theirs),
      ours.forwardNotifications(of: .tick, to: theirs),
    ]
    let archive = Kept<Data>()
    theirs.add(.tick) { notification in
      archive.set(
        try? PropertyListSerialization.data(
          fromPropertyList: notification.userInfo ?? [:], format: .binary, options: 0))
      copies.record(notification.number)
    }
    post(ours, 1)
    let data = try #require(archive.withValue { $0 })
    // SAFETY: The pointer for the format is `nil`.
    let info = unsafe try PropertyListSerialization.propertyList(from: data, format: nil)
    listen(.tick)
    theirs.post(name: .tick, object: nil, userInfo: info as? [String: Any])
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["theirs Tick 1"])
    #expect(copies.values == [1, 1])
  }

  @Test("A bridge and forwarding together carry once")
  func withBridge() {
    let (messages, bridged) = (MessageCenter(), Recorder<Int>())
    let bridge = NotificationBridge(between: messages, and: theirs)
    bridge.carry(Chiming.self)
    let tokens = [
      ours.forwardNotifications(of: Chiming.notificationName, from: theirs),
      ours.forwardNotifications(of: Chiming.notificationName, to: theirs),
    ]
    let token = messages.observe(Chiming.self) { _ in bridged.record(1) }
    listen(Chiming.notificationName)
    messages.post(Chiming())
    ours.post(Chiming().notification())
    withExtendedLifetime((bridge, tokens, token)) {}
    #expect(bridged.count == 2)
    #expect(heard.count == 4)
  }

  @Test("What the platform posts to its default center is heard in ours")
  func platform() {
    let center = CampanileNotificationCenter.NotificationCenter.default
    let token = center.forwardNotifications(of: UserDefaults.didChangeNotification)
    let observer = center.addObserver(
      forName: UserDefaults.didChangeNotification, object: nil, queue: nil
    ) { [heard] in heard.record($0.name.rawValue) }
    UserDefaults.standard.removePersistentDomain(forName: "CampanileTests")
    center.removeObserver(observer)
    withExtendedLifetime(token) {}
    #expect(heard.values.contains(UserDefaults.didChangeNotification.rawValue))
  }

  @Test("K16 the token ends the forwarding, and forwarding keeps no center")
  func ends() {
    weak var lost: CampanileNotificationCenter.NotificationCenter?
    func forward() {
      let center = CampanileNotificationCenter.NotificationCenter()
      lost = center
      let tokens = [
        center.forwardNotifications(of: .tick, from: theirs),
        center.forwardNotifications(of: .tick, to: theirs),
      ]
      center.add(.tick) { [heard] _ in heard.record("heard") }
      post(theirs, 1)
      withExtendedLifetime(tokens) {}
    }
    forward()
    post(theirs, 2)
    #expect(heard.values == ["heard"])
    #expect(lost == nil)
  }
}

/// A message that is a notification too.
private struct Chiming: MessageCenter.Message, TypedNotification {
  static let notificationName = Notification.Name("Chiming")
  init() {}
  init(from notification: Notification) {}
  var userInfo: [AnyHashable: any Sendable] { [:] }
}
