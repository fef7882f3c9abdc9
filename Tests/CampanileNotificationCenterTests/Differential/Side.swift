import CampanileNotificationCenter
import Foundation

/// Whose center and queue a fact is asked of.
enum Side: CaseIterable, Sendable {
  case ours, foundation

  func makeCenter() -> any CenterInterface {
    switch self {
    case .ours: CampanileNotificationCenter.NotificationCenter()
    case .foundation: Foundation.NotificationCenter()
    }
  }

  func makeQueue(_ log: Recorder<String>) -> QueueFace {
    self == .ours ? .ours(log) : .foundation(log)
  }

  /// The thread's default queue, which posts to the default center.
  func defaultQueue(_ log: Recorder<String>) -> QueueFace {
    self == .ours ? .ours(log, .default, .default) : .foundation(log, .default, .default)
  }
}
