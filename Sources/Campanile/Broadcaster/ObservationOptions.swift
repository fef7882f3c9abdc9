/// What can be asked of an observation.
public struct ObservationOptions: OptionSet, Sendable {
  /// The bits.
  public let rawValue: Int
  /// Creates options from bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Ends the observation with its first delivery.
  ///
  /// Of many threads that post, one delivers.
  public static let once = ObservationOptions(rawValue: 1)
}
