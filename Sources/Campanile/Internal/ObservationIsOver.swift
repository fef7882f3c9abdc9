/// Thrown by what wraps an observer when the registration is to end: its owner has died, say.
struct ObservationIsOver: Error {
  /// The error that the observer threw in its last call, which must still be reported.
  var after: (any Error)?
}
