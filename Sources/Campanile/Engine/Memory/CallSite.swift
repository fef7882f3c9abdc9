/// The place in the program where a registration was made.
///
/// Two are equal if they name the same line by the same literal.
package struct CallSite: Hashable, Sendable {
  /// The address of the file's name.
  private let file: UInt
  private let storedLine: UInt32

  /// - Parameter line: A line above four billion, which only a caller can make up, is stored as that.
  package init(file: StaticString, line: UInt) {
    require(file.hasPointerRepresentation, "The file of an observer is named by a literal")
    self.file = unsafe UInt(bitPattern: file.utf8Start)
    storedLine = UInt32(clamping: line)
  }

  package var fileName: String {
    // SAFETY: a literal is valid UTF-8, ends with a zero, and lives as long as the process.
    unsafe UnsafePointer<CChar>(bitPattern: file).map { unsafe String(cString: $0) } ?? ""
  }

  package var line: Int { Int(storedLine) }
}
