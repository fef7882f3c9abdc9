/// The place of an expectation in the test.
struct Caller: Sendable {
  let file: StaticString
  let line: UInt

  init(_ file: StaticString, _ line: UInt) {
    self.file = file
    self.line = line
  }
}
