/// Thrown around an observer if the registration is to end, because its owner has died for example.
struct ObservationIsOver: Error {
  /// The error that the observer threw in its last call, which must still be reported.
  var after: (any Error)?
}
