/// What can be asked of an observation.
public struct ObservationOptions: OptionSet, Sendable {
  /// The bits.
  public let rawValue: Int
  /// Creates options from bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Ends the observation with its first delivery.
  ///
  /// Of many threads that post, one delivers. No second call begins meanwhile, and what the observer
  /// captured is released when the call has returned. This end does not cancel the task of an
  /// asynchronous observer; canceling the observation while the call runs does.
  public static let once = ObservationOptions(rawValue: 1)
}
