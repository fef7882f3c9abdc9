/// How the calls of an asynchronous observer follow each other.
public enum AsyncExecution: Sendable, Hashable {
  /// One after the other, in the order of the posts; what comes meanwhile waits.
  case oneAtATime
  /// Each in a task of its own, at once; no order.
  case concurrent

  /// The name that descriptions give it.
  var deliveryName: String {
    switch self {
    case .oneAtATime: "asynchronously, one at a time"
    case .concurrent: "asynchronously, concurrently"
    }
  }
}
