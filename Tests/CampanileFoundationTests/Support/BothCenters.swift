import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

/// What the tests ask of Foundation's center and of the one that replaces it.
protocol TestedCenter: ObservableNotificationCenter {
  init()
  func post(name aName: NSNotification.Name, object anObject: Any?, userInfo: [AnyHashable: Any]?)
  func addObserver(
    forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol
  func removeObserver(_ observer: Any)
}

extension Foundation.NotificationCenter: TestedCenter {}
extension CampanileNotificationCenter.NotificationCenter: TestedCenter {}

extension TestedCenter {
  func post(name: Notification.Name, object: Any?) {
    post(name: name, object: object, userInfo: nil)
  }

  func post(_ name: Notification.Name, _ number: Int, object: AnyObject? = nil) {
    post(name: name, object: object, userInfo: ["number": number])
  }
}

/// Which center a test has.
enum CenterKind: CaseIterable, Codable, Sendable {
  case foundation, replacement

  /// That of the test that calls; a thread that a test starts is given the kind.
  @TaskLocal static var current = Self.foundation

  func make() -> any TestedCenter {
    switch self {
    case .foundation: Foundation.NotificationCenter()
    case .replacement: CampanileNotificationCenter.NotificationCenter()
    }
  }
}

/// A center of the kind that the test has.
func makeCenter() -> any TestedCenter { CenterKind.current.make() }

/// Runs each test with Foundation's center, and again with the one that replaces it.
struct BothCenters: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    for kind in CenterKind.allCases {
      let named = IssueHandlingTrait.compactMapIssues { issue in
        var issue = issue
        issue.comments.append("The center is \(kind)")
        return issue
      }
      try await CenterKind.$current.withValue(kind) {
        try await named.provideScope(for: test, testCase: testCase, performing: function)
      }
    }
  }
}

extension Trait where Self == BothCenters {
  /// Runs each test with Foundation's center, and again with the one that replaces it.
  static var bothCenters: Self { Self() }
}
