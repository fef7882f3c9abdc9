/// Where in a program a registration was made.
///
/// Two words, since every registration keeps one.
@safe struct SourceLocation: Sendable {
  // SAFETY: points to a literal of the program, which lives as long as the process.
  private nonisolated(unsafe) let file: UnsafePointer<UInt8>
  let line: UInt32

  init(file: StaticString, line: UInt) {
    precondition(file.hasPointerRepresentation, "The file of an observer is named by a literal")
    unsafe self.file = file.utf8Start
    self.line = UInt32(truncatingIfNeeded: line)
  }

  var fileName: String { unsafe String(cString: file) }
}
