package import Testing

/// Expects that a child process has ended with `sentence`, and so for the reason it is about.
///
/// Only debug builds say why they end.
package func expect(
  _ result: ExitTest.Result?, says sentence: String, at location: SourceLocation = #_sourceLocation
) {
  #if DEBUG
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains(sentence), sourceLocation: location)
  #endif
}
