package import Testing

/// Expects that a child process has ended with `sentence`, and so for the reason it is about.
package func expect(
  _ result: ExitTest.Result?, says sentence: String, at location: SourceLocation = #_sourceLocation
) {
  let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  #expect(text.contains(sentence), sourceLocation: location)
}
