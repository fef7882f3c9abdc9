/// How the calls of an asynchronous observer follow each other.
public enum AsyncExecution: Sendable, Hashable {
  /// One call at a time, in the order of the posts; later values wait.
  case oneAtATime
  /// Each call begins at once in its own task, in no order.
  case concurrent

  /// The name of the execution in descriptions.
  var deliveryName: String {
    switch self {
    case .oneAtATime: "asynchronously, one at a time"
    case .concurrent: "asynchronously, concurrently"
    }
  }
}
