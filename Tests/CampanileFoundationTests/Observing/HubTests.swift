import Campanile
import Foundation
import Testing

@testable import CampanileFoundation

extension NotificationHub {
  /// How many blocks this hub has in its center.
  fileprivate var feedCount: Int { state.withLock { $0.feeds.count } }
}

@Suite("One feed for each name of a Foundation center", .ownThread)
struct HubTests {
  private let heard = Recorder<Int>()

  @Test("K16 the block in the center goes with the post after the last observer")
  func feedGoes() async throws {
    let center = NotificationCenter()
    #expect(NotificationHub.existing(center) == nil)
    let token = center.observe(.tick) { [heard] in heard.record($0.number) }
    let other = center.observe(.tock) { _ in }
    let leaks = LeakTracker()
    weak let hub = NotificationHub.existing(center)
    if let hub { leaks.track(hub) }
    #expect(hub?.feedCount == 2)
    center.post(.tick, 1)
    token.cancel()
    #expect(hub?.feedCount == 2)
    center.post(.tick, 2)
    #expect(hub?.feedCount == 1)
    other.cancel()
    center.post(.tock, 2)
    // The tokens' registrations name lists, which do not keep the hub.
    // Who makes a hub for another center may be looking at this one, and hold it for a moment.
    try await leaks.expectGone(within: patience)
    #expect(hub == nil)
    #expect(NotificationHub.existing(center) == nil)
    let again = center.observe(.tick) { [heard] in heard.record($0.number) }
    center.post(.tick, 3)
    withExtendedLifetime(again) {}
    #expect(heard.values == [1, 3])
  }

  @Test(
    "K16 The nameless block goes when the last observer of all names ends, without another post",
    arguments: [nil, Bell()])
  func namelessBlock(object: Bell?) async throws {
    let center = NotificationCenter()
    let source =
      object.map { center.notifications(of: nil, object: $0) } ?? center.allNotifications
    let lasting = center.observe(.tock) { _ in }
    let hub = try #require(NotificationHub.existing(center))
    let queue = TestQueue()
    for token in [
      source.observe { _ in }, source.observe(on: queue.delivery) { _ in },
      source.observe(on: queue.delivery.buffered(.newest(1))) { _ in },
      source.observeAsync { _ in },
    ] {
      #expect(hub.feedCount == 2)
      token.cancel()
    }
    #expect(hub.feedCount == 1)
    var tower: Tower? = Tower()
    source.observe(owner: tower!) { _, _ in }
    var iterator: ValueSequence<PostedNotification>.Iterator? = source.values().makeAsyncIterator()
    tower = nil
    #expect(hub.feedCount == 2)
    withExtendedLifetime(iterator) { iterator = nil }
    #expect(hub.feedCount == 1)
    let itself = Slot<ObservationToken>()
    itself.set(
      source.observe { [heard] in
        heard.record($0.number)
        itself.value?.cancel()
      })
    let once = source.observe(options: .once) { [heard] in heard.record($0.number) }
    #expect(hub.feedCount == 2)
    center.post(.tick, 1, object: object)
    #expect(hub.feedCount == 1)
    withExtendedLifetime((lasting, once, itself)) {}
    #expect(heard.values == [1, 1])
  }

  #if os(Linux)
    @Test("A typed message of Foundation is posted after observers of all names have ended")
    func typedMessage() async {
      await #expect(processExitsWith: .success) {
        struct Opened: NotificationCenter.AsyncMessage {
          typealias Subject = Bell
          static var name: Notification.Name { Notification.Name("Opened") }
        }
        let (center, bell) = (NotificationCenter(), Bell())
        center.allNotifications.observe { _ in }.cancel()
        center.post(Opened(), subject: bell)
      }
    }
  #endif

  @Test("K15 events are reported from before the first observation to after the last one")
  func events() {
    let center = NotificationCenter()
    let events = Recorder(observing: center.events)
    let registrations = center.allNotifications.inspection.groupsReader
    for number in 1...2 {
      let token = center.observe(.tick) { [heard] in heard.record($0.number) }
      #expect(registrations().count == 1)
      center.post(.tick, number)
      token.cancel()
      // Takes the block out.
      center.post(.tick, 0)
      #expect(registrations().isEmpty)
    }
    #expect(heard.values == [1, 2])
    let round: [SourceEvent.Kind] = [
      .registered, .posted, .called, .returned, .postReturned, .ended,
    ]
    #expect(events.values.map(\.kind) == round + round)
    withExtendedLifetime(center) {}
  }

  @Test(
    "K16 a center ends its events, whoever asked for them and however often", arguments: [1, 8])
  func eventsEnd(width: Int) async throws {
    let (leaks, tokens) = (LeakTracker(), Recorder<ObservationToken>())
    do {
      let center = NotificationCenter()
      onThreads(width) { _ in
        for _ in 0..<10 { tokens.record(center.events.observe { _ in }) }
      }
      leaks.track(center)
      leaks.track(try #require(NotificationHub.existing(center)))
      #expect(tokens.values.allSatisfy { $0.isActive })
    }
    // Who makes a hub for another center may be looking at this one, and hold it for a moment.
    try await leaks.expectGone(within: patience)
    #expect(tokens.values.allSatisfy { !$0.isActive })
  }

  @Test("K1 observers come and go while others post", arguments: [1, 2, 8], [false, true])
  func churn(width: Int, isOfAllNames: Bool) {
    let center = NotificationCenter()
    let missed = Recorder<Int>()
    onThreads(width) { thread in
      let name = Notification.Name("\(thread % 2)")
      for number in 0..<200 {
        let own = Recorder<Int>()
        let value = thread * 1_000 + number
        let token = center.observe(isOfAllNames ? nil : name) {
          if $0.number == value { own.record(value) }
        }
        center.post(name, value)
        if own.values != [value] { missed.record(value) }
        token.cancel()
        center.post(name, value)
        if own.values != [value] { missed.record(-value) }
      }
    }
    #expect(missed.values == [])
    #expect(NotificationHub.existing(center)?.feedCount ?? 0 <= (isOfAllNames ? 0 : 2))
  }

  @Test(
    "K1 however many register for a new name at once, each hears a post once", arguments: [2, 8])
  func oneFeed(width: Int) {
    for round in 0..<Effort.times(50, long: 100) {
      let center = NotificationCenter()
      let tokens = Recorder<ObservationToken>()
      let heard = Recorder<Int>()
      onThreads(width) { thread in
        tokens.record(center.observe(.tick) { _ in heard.record(thread) })
        // What is posted after that is heard, whoever else is registering.
        let before = heard.values.count { $0 == thread }
        center.post(.tick, 0)
        #expect(heard.values.count { $0 == thread } > before)
      }
      let before = heard.count
      center.post(.tick, round)
      #expect(heard.values.dropFirst(before).sorted() == Array(0..<width))
      #expect(NotificationHub.existing(center)?.feedCount == 1)
      withExtendedLifetime(tokens) {}
    }
  }

  @Test(
    "K16 descriptors that nobody keeps leave nothing beside a lasting observer",
    arguments: [1, 2, 8])
  func codecs(width: Int) {
    let (center, live) = (NotificationCenter(), LiveCount())
    let lasting = center.observe(.tick) { [heard] in heard.record($0.number) }
    let hub = NotificationHub.existing(center)!
    // Keeps the address of what has gone: the next codec would have its place in the table.
    struct Shell { unowned let codec: NotificationCodec }
    onThreads(width) { _ in
      var shells: [Shell] = []
      for number in 0..<500 {
        let tracked = Tracked(live)
        let descriptor = NotificationDescriptor<Int>(.tick) { [tracked] notification in
          tracked.touch()
          return try notification.value(forKey: "number")
        }
        shells.append(Shell(codec: descriptor.codec))
        let told = Recorder<Int>()
        let token = center.notifications(of: descriptor).observe { told.record($0) }
        if number % 100 == 0 { center.post(.tick, number) }
        token.cancel()
        if number % 100 == 0 { #expect(told.values.contains(number)) }
        // A thread that is held up in a post holds what others observed with until it goes on: of the
        // codecs that lived at a time, and may live on, a purge leaves room for as many again.
        let count = hub.codecs.count(of: .tick)
        #expect(count <= max(8, 2 * (live.peak + width)))
      }
      withExtendedLifetime(shells) {}
    }
    center.post(.tick, 1)
    #expect(live.current == 0)
    // A post that has found nothing to decode looks no more.
    #expect(hub.codecs.count(of: .tick) == 0)
    #expect(hub.codecs.isEmpty)
    let token = center.notifications(of: Rung.self).observe { [heard] in
      heard.record($0.number * 10)
    }
    center.post(Rung(number: 2))
    #expect(!hub.codecs.isEmpty)
    withExtendedLifetime((lasting, token)) {}
    #expect(heard.values.suffix(2) == [1, 20])
  }

  @Test("K16 After the last typed observer of a center, nothing is looked up for its posts")
  func lastUse() throws {
    let center = NotificationCenter()
    let tokens = (0..<2).map { _ in center.notifications(of: Rung.self).observe { _ in } }
    let hub = try #require(NotificationHub.existing(center))
    tokens[0].cancel()
    #expect(!hub.codecs.isEmpty)
    tokens[1].cancel()
    #expect(hub.codecs.isEmpty)
    #expect(hub.codecs.count(of: Rung.notificationName) == 0)
  }

  @Test("K15 a listing names the notification, its object, and whose and where the observer is")
  func listing() {
    let (center, screen, bell) = (NotificationCenter(), Screen(), Bell())
    let queue = TestQueue("slow")
    center.observe(.tick, owner: screen, on: queue.delivery) { _, _ in }
    center.notifications(of: .tock, object: bell).observe(owner: screen) { _, _ in }
    center.notifications(of: nil, object: bell).observe(owner: screen) { _, _ in }
    center.notifications(of: Rung.self, object: bell).observe(owner: screen, on: queue.delivery) {
      _, _ in
    }
    let listed = center.registrations
    #expect(listed.allSatisfy { $0.ownerType == Screen.self })
    #expect(listed.map(\.name) == ["Tick", "Tock", nil, "Rung"])
    #expect(
      listed.map(\.subject) == [
        nil, ObjectIdentifier(bell), ObjectIdentifier(bell), ObjectIdentifier(bell),
      ])
    #expect(listed[0].description.hasPrefix("Tick, owner Screen, on .queue(slow) ("))
    #expect(
      listed[1].description.hasPrefix("Tock, about one subject, owner Screen, on .immediate ("))
    #expect(listed[2].description.hasPrefix("PostedNotification, about one subject, "))
    #expect(listed.allSatisfy { $0.description.contains("HubTests.swift:") })
    withExtendedLifetime(screen) {}
  }

  @Test("K1 a center is not taken for one that has gone, whose address it has")
  func sameAddress() {
    var hubs: [NotificationHub] = []
    for number in 0..<200 {
      let center = NotificationCenter()
      let token = center.observe(.tick) { [heard] in heard.record($0.number) }
      center.post(.tick, number)
      center.post(.tock, number)
      withExtendedLifetime(token) {}
      // Somebody who was looking while the center went.
      hubs.append(NotificationHub.existing(center)!)
    }
    withExtendedLifetime(hubs) {}
    #expect(heard.values == Array(0..<200))
  }

  @Test("A9 K9 an observer about an object that has died leaves nothing in the center")
  func observer() {
    let center = NotificationCenter()
    let source = center.notifications(of: .tick, object: Bell())
    let kept = center.observe(.tock) { _ in }
    let hub = NotificationHub.existing(center)
    for _ in 0..<10 { #expect(!source.observe { _ in }.isActive) }
    #expect(hub?.feedCount == 1)
    withExtendedLifetime(kept) {}
  }

  @Test("K16 many names leave nothing behind")
  func manyNames() {
    let center = NotificationCenter()
    let token = center.observe(.tick) { [heard] in heard.record($0.number) }
    for number in 0..<1_000 {
      let token = center.observe(Notification.Name("\(number)")) { _ in }
      token.cancel()
      // Nobody posts under these names; a look at all once in a while takes the blocks out.
      #expect(NotificationHub.existing(center)!.feedCount <= 64)
    }
    center.post(.tick, 1)
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
    #expect(center.registrations.count == 1)
  }
}
