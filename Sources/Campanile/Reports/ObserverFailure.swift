/// An error that an observer threw, as reported by the `failures` of its source.
public struct ObserverFailure: Error, Sendable, CustomStringConvertible {
  /// The error that the observer threw.
  public let error: any Error
  /// The type of the source's messages or values.
  ///
  /// An observer of a `map` receives values of another type.
  public let valueType: any Any.Type
  /// The file in which the observer was registered, as `#fileID` names it.
  public let file: String
  /// The line at which the observer was registered.
  public let line: Int

  package init(error: any Error, valueType: any Any.Type, location: CallSite) {
    self.error = error
    self.valueType = valueType
    file = location.fileName
    line = location.line
  }

  /// A sentence that names the observer, the type of the value and the error.
  public var description: String {
    "The observer of \(valueType) registered at \(file):\(line) threw \(error)"
  }
}
