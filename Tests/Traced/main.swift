// A program with three planted faults, looked at by its own trace: who posts the title twice, which
// line leaks observers, and which observer is slow. Prints what the trace says, and writes its file
// to the path that it is given.

import Campanile
import CampanileFoundation
import CampanileInspector
import Dispatch
import Foundation

struct TitleChanged: MessageCenter.Message {
  var title: String
}

struct LevelChanged: MessageCenter.Message {
  var level: Int
}

struct TrackEnded: MessageCenter.Message {}

struct VolumeChanged: MessageCenter.Message, TypedNotification {
  static let notificationName = Notification.Name("VolumeChanged")
  init() {}
  init(from notification: Notification) {}
  var userInfo: [AnyHashable: any Sendable] { [:] }
}

final class Screen: Sendable {}
final class Meter: Sendable {}

@inline(never)
func showNextTitle(_ center: MessageCenter) {
  center.post(TitleChanged(title: "Aria"))  // planted: the first title
  print("", terminator: "")
}

// Not of the same form as the first: the optimizer would make one function of both.
@inline(never)
func showTitleOfQueue(_ center: MessageCenter) {
  let variation = ["da capo"]
  for addition in variation.shuffled() {
    center.post(TitleChanged(title: "Aria " + addition))  // planted: the second title
  }
}

@inline(never)
func turnUp(_ center: NotificationCenter) {
  center.post(VolumeChanged())  // planted: the notification
  print("", terminator: "")
}

struct CurtainRaised: MessageCenter.Message {}

extension MessageCenter {
  @inline(never)
  func raiseCurtain() {
    post(CurtainRaised())  // planted: the curtain
    print("", terminator: "")
  }
}

extension Broadcaster<Int> {
  @inline(never)
  func ring() {
    for number in [3].shuffled() {
      send(number)  // planted: the bell
    }
  }
}

extension NotificationCenter {
  @inline(never)
  func turnDown() {
    print("", terminator: "")
    post(VolumeChanged())  // planted: an extension's notification
    print("", terminator: "")
  }
}

struct Dived: MessageCenter.Message {}

@inline(never)
func dive(_ depth: Int) {
  if depth == 0 { sea.post(Dived()) } else { dive(depth - 1) }
  print("", terminator: "")
}

@inline(never)
func diveFirst(_ depth: Int) {
  dive(depth)
  print("", terminator: "")
}

// Not of the same form as the first: the optimizer would make one function of both.
@inline(never)
func diveSecond(_ depth: Int) {
  for depth in [depth].shuffled() { dive(depth) }
}

/// Uses up time.
func work(milliseconds: Int) {
  let end = ContinuousClock.now + .milliseconds(milliseconds)
  while ContinuousClock.now < end {}
}

let center = MessageCenter(label: "traced")
let sea = MessageCenter(label: "deep call stacks")
let (screen, meter) = (Screen(), Meter())
let queue = DispatchQueue(label: "levels")
let trace = Trace(of: center, values: true)

center.observe(TrackEnded.self, owner: screen) { _, _ in showNextTitle(center) }
center.observe(TrackEnded.self, owner: screen, on: .queue(queue)) { _, _ in
  showTitleOfQueue(center)
}
center.observe(LevelChanged.self, owner: meter) { _, _ in work(milliseconds: 1) }
center.observe(LevelChanged.self, owner: meter, on: .queue(queue)) { _, _ in
  work(milliseconds: 100)  // planted: slow
}
var leaked: [ObservationToken] = []
for _ in 0..<40 {
  leaked.append(center.observe(TitleChanged.self) { _ in })  // planted: leak
}
let asynchronous = center.messages(of: LevelChanged.self).observeAsync { _ in
  try await Task.sleep(for: .milliseconds(1))  // planted: in tasks
}

center.post(TrackEnded())
for level in 1...5 { try await center.postAndWait(LevelChanged(level: level)) }
queue.sync {}

print("posters:")
print(trace.posters(of: TitleChanged.self))
let bridged = MessageCenter(label: "bridged")
let notifications = NotificationCenter()
let bridge = NotificationBridge(between: bridged, and: notifications)
bridge.carry(VolumeChanged.self)
let bridgeTrace = Trace(of: bridged)
turnUp(notifications)
notifications.turnDown()
print(bridgeTrace.posters(of: VolumeChanged.self))
let bells = Broadcaster<Int>()
let extensionTrace = Trace(of: center, bells)
center.raiseCurtain()
bells.ring()
print(extensionTrace.posters(of: CurtainRaised.self))
print(extensionTrace.posters(of: Int.self))
print("slowest:")
print(trace.slowest(5))
print("lines:")
print(Registrations(of: center).byLine.prefix(1).map(\.description).joined())
print("hearers: \(Registrations(of: center, hearing: TitleChanged.self).all.count)")
for post in trace.posts(of: TitleChanged.self) {
  print("title: \(post.value ?? ""), causes: \(post.causes.count), calls: \(post.calls.count)")
}
let callers = trace.posts(of: TitleChanged.self).flatMap(\.callers)
let ownCallers = callers.filter { $0.path?.contains("/Sources/Campanile") == true }
print("callers: \(callers.isEmpty ? "none" : "some"), of the package: \(ownCallers.count)")
// Some of these stacks end where stacks are no longer told apart.
let depths = 41...46
let deepTrace = Trace(of: sea)
for depth in depths {
  diveFirst(depth)
  diveSecond(depth)
}
let dives = deepTrace.posts(of: Dived.self).map(\.callers)
let strangers = dives.enumerated().filter { index, callers in
  let stranger = index.isMultiple(of: 2) ? "diveSecond" : "diveFirst"
  return callers.contains { $0.function.hasPrefix(stranger) }
}
print("dives: \(dives.count), with the callers of others: \(strangers.count)")
if CommandLine.arguments.count > 1 { try trace.write(to: CommandLine.arguments[1]) }
withExtendedLifetime((screen, meter, leaked, asynchronous)) {}
