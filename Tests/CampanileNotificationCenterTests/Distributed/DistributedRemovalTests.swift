import Campanile
import CampanileNotificationCenter
import CampanileRelay
import Foundation
import TestSupport
import Testing

@Suite("Removing observers of distributed notifications", .ownThread, .timeLimit(.long))
struct DistributedRemovalTests {
  private let center = DistributedCenter(
    Relay(.loopback("\(UInt64.random(in: 0 ... .max))"), name: "center"))
  private let heard = Recorder<String>(timeout: patience)

  /// Posts, and expects these names of observers.
  private func expect(
    _ names: [String], of name: Notification.Name = .level, about object: String? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let (recorder, start) = (Recorder<String>(timeout: patience), heard.count)
    let token = center.addObserver(forName: name, object: nil, queue: nil) {
      recorder.record($0.name.rawValue)
    }
    center.post(name: name, object: object)
    try await recorder.next()
    let came = heard.values.dropFirst(start).map { String($0.split(separator: " ")[0]) }
    #expect(came == names, sourceLocation: location)
    center.removeObserver(token)
  }

  private func add(_ screen: DistributedScreen, _ name: Notification.Name?, _ object: String?) {
    center.addObserver(screen, selector: DistributedScreen.receive, name: name, object: object)
  }

  @Test("An object is removed from all, from a name, or from an object")
  func objects() async throws {
    let (one, two) = (DistributedScreen("one ", heard), DistributedScreen("two ", heard))
    add(one, .level, nil)
    add(one, .end, nil)
    add(one, .level, "a")
    add(two, nil, nil)
    try await expect(["one", "one", "two"], about: "a")
    center.removeObserver(one, name: .level, object: "b")
    center.removeObserver(one, name: .track, object: nil)
    try await expect(["one", "one", "two"], about: "a")
    center.removeObserver(one, name: nil, object: "a")
    try await expect(["one", "two"], about: "a")
    center.removeObserver(one, name: .level, object: nil)
    try await expect(["two"], about: "a")
    try await expect(["one", "two"], of: .end)
    center.removeObserver(Optional(one) as Any)
    center.removeObserver("no observer")
    try await expect(["two"], of: .end)
    withExtendedLifetime((one, two)) {}
  }

  @Test("A token is removed, once, where its name and object are these, and by its own center")
  func tokens() async throws {
    let token = center.addObserver(forName: .level, object: "a", queue: nil) { [heard] _ in
      heard.record("block")
    }
    let other = DistributedCenter(Relay(.loopback("other"), name: "other"))
    other.removeObserver(token)
    center.removeObserver(token, name: .end, object: nil)
    center.removeObserver(token, name: nil, object: "b")
    try await expect(["block"], about: "a")
    center.removeObserver(token, name: .level, object: "a")
    center.removeObserver(token)
    try await expect([], about: "a")
  }

  @Test("An object that ends is removed, and is not kept")
  func ended() async throws {
    let leaks = LeakTracker()
    do {
      let screen = DistributedScreen("one ", heard)
      leaks.track(screen)
      add(screen, nil, nil)
      try await expect(["one"])
    }
    try leaks.expectGone()
    try await expect([])
  }

  @Test(
    "K16 what a block captured is released with its removal, also while something is held for it")
  func released() async throws {
    let leaks = LeakTracker()
    var own: (any NSObjectProtocol)? = center.addObserver(forName: .level, object: nil, queue: nil)
    {
      [probe = leaks.makeProbe("closure"), heard] _ in
      probe.touch()
      heard.record("block")
    }
    try await expect(["block"])
    center.suspended = true
    center.post(name: .level, object: nil)
    if let own { center.removeObserver(own) }
    own = nil
    // The thread that has called it may still be about to return.
    try await leaks.expectGone(within: patience)
    center.suspended = false
    try await expect([])
  }

  @Test("An observer that is removed before its turn is skipped, also on its queue")
  func inTheMiddle() async throws {
    let (queue, gate) = (SerialOperationQueue(), Gate())
    let second = DistributedScreen("second ", heard)
    let first = center.addObserver(forName: .level, object: nil, queue: nil) {
      [center, heard] _ in
      heard.record("first")
      center.removeObserver(second)
    }
    add(second, .level, nil)
    let queued = center.addObserver(forName: .level, object: nil, queue: queue) { [heard] _ in
      heard.record("queued")
    }
    queue.addOperation { gate.pass() }
    try await gate.reached(within: patience)
    try await expect(["first"])
    center.removeObserver(queued)
    let done = Recorder<Int>(timeout: patience)
    queue.addOperation { done.record(1) }
    gate.open()
    try await done.next()
    #expect(heard.values == ["first"])
    center.removeObserver(first)
  }

  @Test("The center lists its observations, with where they were added, while there are any")
  func listed() {
    let screen = DistributedScreen("one ", heard)
    let token = center.addObserver(
      forName: .level, object: nil, queue: nil, file: "File.swift", line: 7
    ) { _ in }
    center.addObserver(
      screen, selector: DistributedScreen.receive, name: nil, object: "a", file: "File.swift",
      line: 8)
    let lines = center.description.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines[1].contains("File.swift:7"))
    #expect(lines[2].contains("File.swift:8"))
    center.removeObserver(token)
    center.removeObserver(screen)
    #expect(center.description == "DistributedCenter")
  }
}
