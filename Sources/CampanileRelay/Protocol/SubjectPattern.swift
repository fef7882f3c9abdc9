/// A subject, or a pattern of subjects: tokens between dots.
///
/// The token `*` matches any one token. The last token may be `>`, which matches one token or more.
package struct SubjectPattern: Hashable, Sendable {
  package let text: String
  private let tokens: [Substring]
  /// Whether the pattern has a wildcard, so that it cannot be the subject of a message.
  let hasWildcard: Bool

  /// Checks a pattern.
  ///
  /// - Throws: An error that says what is wrong with the text.
  package init(validating text: String) throws(FrameError) {
    let tokens = text.split(separator: ".", omittingEmptySubsequences: false)
    for (index, token) in tokens.enumerated() {
      if token.isEmpty { throw FrameError("The subject \"\(text)\" has an empty token.") }
      if token == ">", index < tokens.count - 1 {
        throw FrameError("The subject \"\(text)\" has tokens after \">\".")
      }
      if token.utf8.count > 1, token.contains(where: { $0 == "*" || $0 == ">" }) {
        throw FrameError("The subject \"\(text)\" has * or > as a part of a token.")
      }
      if token.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) {
        throw FrameError("The subject \"\(text)\" has a space or a control character.")
      }
    }
    self.text = text
    self.tokens = tokens
    hasWildcard = tokens.contains { $0 == "*" || $0 == ">" }
  }

  /// Whether the pattern matches the subject of a message.
  package func matches(_ subject: String) -> Bool {
    if !hasWildcard { return text == subject }
    let parts = subject.split(separator: ".", omittingEmptySubsequences: false)
    for (index, token) in tokens.enumerated() {
      guard index < parts.count else { return false }
      if token == ">" { return true }
      guard token == "*" || token == parts[index] else { return false }
    }
    return parts.count == tokens.count
  }
}
