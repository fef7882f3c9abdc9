import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

/// The forms of `observe`, beside Foundation's own, on the center that replaces Foundation's.
///
/// The forms are those of Foundation's center, whose tests show what holds for each.
@Suite("Both kinds of observers of the replacement", .ownThread)
struct BothKindsTests {
  private final class Screen: Sendable {
    let heard: Recorder<String>
    init(_ heard: Recorder<String>) { self.heard = heard }
    func rang(_ notification: Notification) { heard.record("method \(notification.number)") }
  }

  private let center = CampanileNotificationCenter.NotificationCenter()
  private let heard = Recorder<String>()
  private let bell = Bell()

  /// Registers one observer of each kind, and returns what they record for a number.
  private func observeInEveryWay(
    _ screen: Screen
  ) -> (tokens: [Any], hears: (_ number: Int) -> [String]) {
    let name = Rung.notificationName
    var tokens: [Any] = []
    tokens.append(center.observe(name) { [heard] in heard.record("token \($0["number"] ?? -1)") })
    tokens.append(center.add(name) { [heard] in heard.record("block \($0.number)") })
    center.notifications(of: name, object: bell).observe(owner: screen) {
      $0.heard.record("owner \($1["number"] ?? -1)")
    }
    center.addObserver(screen, selector: Screen.rang, name: name, object: bell)
    tokens.append(
      center.notifications(of: Rung.self).observe { [heard] in heard.record("type \($0.number)") })
    tokens.append(center.add(nil) { [heard] in heard.record("any block \($0.number)") })
    tokens.append(center.observe(nil) { [heard] in heard.record("any \($0["number"] ?? -1)") })
    tokens.append(
      center.notifications(of: Rung.descriptor).observe { [heard] in
        heard.record("descriptor \($0.number)")
      })
    tokens.append(
      center.add(nil, bell) { [heard] in heard.record("any block about \($0.number)") })
    return (
      tokens,
      { number in
        [
          "token", "block", "owner", "method", "type", "any block", "any", "descriptor",
          "any block about",
        ].map { "\($0) \(number)" }
      }
    )
  }

  @Test("A5 K5 a post on either side reaches both kinds in the order in which they registered")
  func order() {
    let screen = Screen(heard)
    let (tokens, hears) = observeInEveryWay(screen)
    center.post(name: Rung.notificationName, object: bell, userInfo: ["number": 1])
    center.post(Rung(number: 2).notification(about: bell))
    center.post(Rung(number: 3), object: bell)
    center.post(Rung(number: 4), as: Rung.descriptor, object: bell)
    let theirs = Foundation.NotificationCenter()
    let forwarding = center.forwardNotifications(of: Rung.notificationName, from: theirs)
    theirs.post(Rung(number: 5), object: bell)
    withExtendedLifetime((tokens, forwarding)) {}
    #expect(heard.values == (1...5).flatMap(hears))
  }

  @Test(
    "A11 removal by owner, or by an object in an optional, ends methods and owner forms, no others",
    arguments: [false, true])
  func removalByOwner(isByObject: Bool) {
    let screen: Screen? = Screen(heard)
    let (tokens, _) = observeInEveryWay(screen!)
    func remove(_ object: AnyObject?) {
      let name = Rung.notificationName
      if isByObject {
        center.removeObserver(screen as Any, name: name, object: object as Any)
      } else {
        center.removeObservers(ownedBy: screen!, of: name, object: object)
      }
    }
    remove(Bell())
    #expect(center.registrations.count == 9)
    // An optional without an object is any object.
    remove(isByObject ? nil : bell)
    #expect(center.registrations.count == 7)
    center.post(Rung(number: 1), object: bell)
    withExtendedLifetime((tokens, screen)) {}
    #expect(!heard.values.contains("owner 1") && !heard.values.contains("method 1"))
    #expect(heard.values.count == 7)
  }

  @Test("K15 both kinds are listed, in the order in which they registered")
  func listed() {
    let screen = Screen(heard)
    let (tokens, _) = observeInEveryWay(screen)
    let (name, id) = (Rung.notificationName.rawValue, ObjectIdentifier(bell))
    let listed = center.registrations
    #expect(listed.map(\.name) == [name, name, name, name, name, nil, nil, name, nil])
    #expect(listed.map(\.subject) == [nil, nil, id, id, nil, nil, nil, nil, id])
    #expect(listed.count { $0.description.contains("owner Screen") } == 2)
    withExtendedLifetime((tokens, screen)) {}
  }

  @Test("A center that is known as observable alone is observed and posted to, whichever it is")
  func asProtocol() {
    let centers: [any ObservableNotificationCenter] = [
      center, Foundation.NotificationCenter(),
    ]
    for center in centers {
      let token = center.notifications(of: Rung.self).observe { [heard] in
        heard.record("\($0.number)")
      }
      center.post(Rung(number: 1))
      withExtendedLifetime(token) {}
    }
    #expect(heard.values == ["1", "1"])
  }
}
