import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Typed notifications", .ownThread, .bothCenters)
struct TypedNotificationTests {
  private let center = makeCenter()
  private let heard = Recorder<Int>()
  private let failures = Recorder<String>()

  /// A notification of the name, whose content is something else.
  private func postNonsense() {
    center.post(name: Rung.notificationName, object: nil, userInfo: ["number": "one"])
  }

  @Test("H3 a failed decoding is reported until the observer ends, and no value takes its place")
  func failure() {
    let token = center.notifications(
      of: Rung.self, onFailure: { [failures] in failures.record($0.description) }
    ).observe { [heard] in heard.record($0.number) }
    postNonsense()
    center.post(name: Rung.notificationName, object: nil)
    center.post(Rung(number: 1))
    token.cancel()
    postNonsense()
    #expect(heard.values == [1])
    #expect(failures.count == 2)
    #expect(
      failures.values[0].contains(
        "The notification Rung could not be decoded as Rung for the observer"))
    #expect(failures.values[0].contains("TypedNotificationTests.swift"))
    #expect(
      failures.values[0].hasSuffix(": the user info has a String for 'number' instead of an Int"))
    #expect(failures.values[1].contains("has no value for 'number'"))
  }

  @Test("H3 without a handler the failure is one sentence on standard error, which names one place")
  func standardError() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      [kind = CenterKind.current as CenterKind] in
      let center = kind.make()
      let token = center.notifications(of: Rung.self).observe { _ in }
      let values = center.notifications(of: Rung.self).values()
      center.post(name: Rung.notificationName, object: nil)
      withExtendedLifetime((token, values)) {}
      exit(0)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.contains("notification Rung") }
    #expect(lines.count == 2)
    for line in lines {
      #expect(
        line.hasPrefix("The notification Rung could not be decoded as Rung for the observer at "))
      #expect(line.hasSuffix(": the user info has no value for 'number'"))
      #expect(line.components(separatedBy: ".swift:").count == 2)
    }
  }

  @Test("A failure of a decoder's own is told as it is")
  func ownError() {
    struct Broken: Error {}
    let descriptor = NotificationDescriptor<Int>(.tick) { _ in throw Broken() }
    let token = center.notifications(
      of: descriptor, onFailure: { [failures] in failures.record($0.description) }
    ).observe { _ in }
    center.post(.tick, 1)
    withExtendedLifetime(token) {}
    #expect(failures.values.first?.hasSuffix(": Broken()") == true)
  }

  @Test(
    "H3 a failure ends nobody, and does not use up an observer or sequence that wants one value")
  func failureAndOnce() async {
    let source = center.notifications(of: Rung.self, onFailure: { _ in })
    let token = source.observe(options: .once) { [heard] in heard.record($0.number) }
    let values = source.values(options: .once)
    postNonsense()
    #expect(token.isActive && center.registrations.count == 2)
    for number in 1...2 { center.post(Rung(number: number)) }
    #expect(!token.isActive && center.registrations.isEmpty)
    #expect(heard.values == [1])
    #expect(await contents(of: values).map(\.number) == [1])
  }

  @Test("H3 a failure is reported once, where the observer runs, also behind a filter")
  func failurePlace() async {
    let (poster, queue, places) = (Slot<ThreadMark>(), TestQueue(), Inbox<Bool>())
    let source = center.notifications(
      of: Rung.self, onFailure: { _ in places.record(poster.value?.isCurrent == true) })
    let filtered = [
      source.filter { _ in true }, source.compactMap { $0 }, source.map { $0 }.filter { _ in true },
    ]
    let buffered = filtered.map {
      $0.observe(on: queue.delivery.buffered(.newest(4))) { [heard] in heard.record($0.number) }
    }
    let asynchronous = filtered.map { $0.observeAsync { [heard] in heard.record($0.number) } }
    onThreads(1) { _ in
      poster.set(.current)
      postNonsense()
      center.post(Rung(number: 1))
    }
    #expect(await heard.values(count: 6) == Array(repeating: 1, count: 6))
    #expect(places.values == Array(repeating: false, count: 6))
    withExtendedLifetime((buffered, asynchronous)) {}
  }

  @Test(
    "H4 a notification is decoded once, however many observe it where, by descriptor or by type")
  func decodedOnce() {
    let (target, decoded) = (ManualTarget(), Recorder<Int>())
    let descriptor = NotificationDescriptor(.tick) { notification in
      let number: Int = try notification.value(forKey: "number")
      decoded.record(number)
      return number
    }
    var tokens = (0..<5).map { _ in
      center.notifications(of: descriptor).observe { [heard] in heard.record($0) }
    }
    tokens += (0..<5).map { _ in
      center.notifications(of: descriptor).observe(on: .target(target)) { [heard] in
        heard.record($0)
      }
    }
    center.post(.tick, 1)
    #expect(decoded.values == [1])
    target.runJobs()
    #expect(decoded.values == [1])
    #expect(heard.values == Array(repeating: 1, count: 10))
    tokens = []
    center.post(.tick, 2)
    let other = center.observe(.tick) { [heard] in heard.record($0.number) }
    center.post(.tick, 3)
    withExtendedLifetime(other) {}
    #expect(decoded.values == [1])
    let before = Counted.decoded.count
    for _ in 0..<3 { tokens.append(center.notifications(of: Counted.self).observe { _ in }) }
    tokens.append(center.notifications(of: Counted.descriptor).observe { _ in })
    let values = center.notifications(of: Counted.self).values()
    center.post(Counted())
    withExtendedLifetime((tokens, values)) {}
    #expect(Counted.decoded.count - before == 1)
  }

  @Test("A descriptor reads what is not Sendable where it is posted")
  func notSendable() {
    final class Drawing { var width = 4 }
    let (target, drawing) = (ManualTarget(), Drawing())
    let widths = NotificationDescriptor(.tick) { notification in
      try notification.object(as: Drawing.self).width
    }
    let token = center.notifications(of: widths).observe(on: .target(target)) { [heard] in
      heard.record($0)
    }
    center.post(name: .tick, object: drawing)
    drawing.width = 5
    target.runJobs()
    withExtendedLifetime(token) {}
    #expect(heard.values == [4])
  }

  @Test("A decoder that finds no object, or another one, says so")
  func wrongObject() {
    for object in [nil, 5, makeCenter()] as [Any?] {
      #expect(throws: NotificationDecodingError(.wrongObject, "")) {
        let _: Bell = try Notification(name: .tick, object: object).object()
      }
    }
  }

  @Test("H4 a descriptor posts what it can read, and every observer of the name hears it")
  func encoded() {
    let descriptor = NotificationDescriptor<Int>(.tick) {
      try $0.value(forKey: "number")
    } encode: {
      ["number": $0]
    }
    let bell = Bell()
    let tokens = [
      center.notifications(of: descriptor, object: bell).observe { [heard] in heard.record($0) },
      center.observe(.tick) { [heard] in heard.record($0.number * 10) },
    ]
    let own = center.addObserver(forName: .tick, object: nil, queue: nil) { [heard] notification in
      heard.record((notification.userInfo?["number"] as? Int ?? 0) * 100)
    }
    center.post(3, as: descriptor, object: bell)
    center.removeObserver(own)
    withExtendedLifetime(tokens) {}
    #expect(heard.values.sorted() == [3, 30, 300])
  }

  @Test("K4 a decoder runs before the post begins, and may wait for the end of an observer")
  func decoderWaits() {
    let (victim, waits) = (Slot<ObservationToken>(), Recorder<Registration.Wait>())
    let descriptor = NotificationDescriptor<Int>(.tick) { _ in
      if let token = victim.value { waits.record(token.cancelAndWait()) }
      return 1
    }
    let token = center.notifications(of: descriptor).observe { [heard] in heard.record($0) }
    victim.set(center.observe(.tick) { [heard] _ in heard.record(2) })
    center.post(name: .tick, object: nil)
    withExtendedLifetime(token) {}
    #expect(waits.values == [.finished])
    #expect(heard.values == [1])
  }

  @Test("K5 typed observers stand among the others of the name as they registered")
  func order() {
    let descriptor = NotificationDescriptor(Rung.notificationName) { _ in 0 }
    let tokens = [
      center.notifications(of: Rung.self).observe { [heard] _ in heard.record(0) },
      center.observe(Rung.notificationName) { [heard] _ in heard.record(1) },
      center.notifications(of: descriptor).observe { [heard] _ in heard.record(2) },
      center.notifications(of: Rung.self).observe { [heard] _ in heard.record(3) },
      center.observe(Rung.notificationName) { [heard] _ in heard.record(4) },
    ]
    center.post(Rung(number: 1))
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [0, 1, 2, 3, 4])
  }
}

/// A type that counts how often it is read.
private struct Counted: TypedNotification {
  static let notificationName = Notification.Name("Counted")
  static let decoded = Recorder<Int>()

  init() {}
  init(from notification: Notification) { Self.decoded.record(1) }
  var userInfo: [AnyHashable: any Sendable] { [:] }
}
