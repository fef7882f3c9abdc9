import Testing

@testable import CampanileRelay

@Suite("Texts in names")
struct SubjectNameTests {
  @Test(
    "A text is one token, and comes out of it again",
    arguments: ["", "a", "a-b_9", "a.b", "*", ">", "100 %", "Süd", "\0", "%+5"])
  func token(text: String) {
    let token = SubjectName.escaped(text)
    #expect(!token.isEmpty && token.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != 46 })
    #expect(SubjectName.unescaped(token[...]) == text)
  }

  @Test(
    "Percent signs that encode nothing are no text",
    arguments: ["a%", "%4", "%+5", "%-0", "%GG", "%FF", "%%41"])
  func broken(token: String) { #expect(SubjectName.unescaped(token[...]) == nil) }
}
