/// Thrown by what wraps an observer when the registration is to end: its owner has died, say.
struct ObservationIsOver: Error {
  /// What the observer threw in its last call, which is still to be reported.
  var after: (any Error)?
}
