#if NATS
  import CampanileNATS
  import TestSupport
  import Testing

  @Suite("Options of NATS", .timeLimit(.long))
  struct NATSOptionTests {
    private static let longest = String(repeating: "a", count: 255)

    @Test("Streams and receivers have names that a server can use for files")
    func names() {
      for name in ["S", "a-b_c", "$x", Self.longest] { _ = NATSOption.durable(name, as: name) }
    }

    @Test(
      "Other names stop the program",
      arguments: ["", "a.b", "a*", ">", "a/b", #"a\b"#, "a b", "\u{7F}", "ä", longest + "a"])
    func otherNames(name: String) async {
      await #expect(processExitsWith: .failure) { [name] in _ = NATSOption.durable(name) }
      await #expect(processExitsWith: .failure) { [name] in _ = NATSOption.durable("S", as: name) }
    }
  }
#endif
