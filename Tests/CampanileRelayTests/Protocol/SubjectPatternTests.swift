import Testing

@testable import CampanileRelay

struct SubjectPatternTests {
  @Test(arguments: [
    ("a.b", "a.b", true), ("a.b", "a", false), ("a.b", "a.b.c", false), ("a.b", "a.c", false),
    ("a.*", "a.b", true), ("a.*", "a", false), ("a.*", "a.b.c", false), ("*.b", "a.b", true),
    ("a.>", "a.b", true), ("a.>", "a.b.c", true), ("a.>", "a", false), (">", "a", true),
    ("*", "a", true), ("*.*", "a", false), ("a.*.c", "a.b.c", true),
  ])
  func matches(pattern: String, subject: String, isMatch: Bool) throws {
    #expect(try SubjectPattern(validating: pattern).matches(subject) == isMatch)
  }

  @Test(arguments: ["a*", "a.b>", "", ".", "a.", ".a", "a..b", "a.>.b", "a b", "a\n", "a.\u{7F}"])
  func refuses(text: String) {
    #expect(throws: FrameError.self) { try SubjectPattern(validating: text) }
  }

  @Test func tellsWildcards() throws {
    #expect(try SubjectPattern(validating: "a.*").hasWildcard)
    #expect(try SubjectPattern(validating: ">").hasWildcard)
    #expect(try !SubjectPattern(validating: "a.b").hasWildcard)
  }
}
