import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

@Suite("What the replacement lists", .ownThread)
struct ListingTests {
  private final class Screen: Sendable {
    func hear(_ notification: Notification) {}
  }

  private let ours = CampanileNotificationCenter.NotificationCenter()
  private let theirs = Foundation.NotificationCenter()

  /// The lines of the center's description about observations that were made at `line`.
  private func listed(_ line: Int) -> Int {
    let place = "(\(#fileID):\(line))"
    return ours.description.split(separator: "\n").count { $0.hasSuffix(place) }
  }

  @Test("K15 An observation is listed with the line of the program that made it")
  func places() {
    let screen = Screen()
    let block = #line + 1
    let token = ours.addObserver(forName: .tick, object: nil, queue: nil) { _ in }
    let queued = #line + 1
    let other = ours.addObserver(forName: .tick, object: nil, queue: OperationQueue()) { _ in }
    let method = #line + 1
    ours.addObserver(screen, selector: Screen.hear, name: .tick, object: nil)
    let forwarding = #line + 1
    let forward = ours.forwardNotifications(of: .tick, to: theirs)
    for line in [block, queued, method, forwarding] { #expect(listed(line) == 1) }
    ours.removeObserver(token)
    #expect(listed(block) == 0)
    ours.removeObserver(other)
    withExtendedLifetime((screen, forward)) {}
  }

  @Test("K15 What is forwarded from Foundation's center is listed there with its line")
  func forwardedPlace() {
    let line = #line + 1
    let token = ours.forwardNotifications(of: .tick, from: theirs)
    #expect(theirs.registrations.map(\.line) == [line])
    #expect(theirs.registrations.map(\.file) == [#fileID])
    withExtendedLifetime(token) {}
  }

  @Test("A method that was asked for by Foundation's name observes as the other does")
  func byName() {
    let heard = Recorder<Int>()
    let add = ours.addObserver(forName:object:queue:using:)
    let token = add(.tick, nil, nil) { heard.record($0.number) }
    ours.post(name: .tick, object: nil, userInfo: ["number": 1])
    ours.removeObserver(token)
    ours.post(name: .tick, object: nil, userInfo: ["number": 2])
    #expect(heard.values == [1])
  }
}
