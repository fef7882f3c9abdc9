/// Ends the process with a sentence that names the caller's mistake, unless the condition holds.
///
/// It takes the place of `precondition`, which prints nothing in a release build.
@inlinable
package func require(
  _ condition: Bool, _ sentence: @autoclosure () -> String,
  file: StaticString = #fileID, line: UInt = #line
) {
  if !condition { misuse(sentence(), file: file, line: line) }
}

/// Ends the process with a sentence that names the caller's mistake.
@usableFromInline
package func misuse(
  _ sentence: String, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  fatalError(sentence, file: file, line: line)
}
