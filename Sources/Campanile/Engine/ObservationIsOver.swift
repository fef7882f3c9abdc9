/// Thrown around an observer if the registration is to end, because its owner has died for example.
package struct ObservationIsOver: Error {
  /// The error that the observer threw in its last call, which must still be reported.
  let after: (any Error)?

  package init(after error: (any Error)? = nil) { after = error }
}
