import CampanileFoundation
import CampanileTesting
import Foundation
import XCTest

import class CampanileNotificationCenter.NotificationCenter

/// Expectations of a test target that is switched.
final class XCTestTests: XCTestCase {
  func testExpectationOfXCTestHearsWhatIsForwarded() {
    let forwarding = NotificationCenter.default.forwardNotifications(
      of: .forwarded, to: Foundation.NotificationCenter.default)
    let forwarded = expectation(forNotification: .forwarded, object: nil)
    NotificationCenter.default.post(name: .forwarded, object: nil)
    wait(for: [forwarded], timeout: patience / .seconds(1))
    withExtendedLifetime(forwarding) {}
  }

  func testRecorderHearsWithoutForwarding() async throws {
    let recorder = Recorder(observing: NotificationCenter.default.notifications(of: .recorded))
    NotificationCenter.default.post(name: .recorded, object: nil, userInfo: ["number": 1])
    let posted = try await recorder.next(within: patience)
    XCTAssertEqual(posted["number"], 1)
  }
}

extension Notification.Name {
  fileprivate static let forwarded = Notification.Name("XCTestTests.forwarded")
  fileprivate static let recorded = Notification.Name("XCTestTests.recorded")
}
