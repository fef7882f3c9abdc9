#if NATS
  import CampanileNATS
  import TestSupport
  import Testing

  @Suite("Options of NATS", .timeLimit(.minutes(5)))
  struct NATSOptionTests {
    private static let longest = String(repeating: "a", count: 255)

    @Test("Streams and receivers have names that a server can use for files")
    func names() {
      for name in ["S", "a-b_c", "$x", Self.longest] { _ = NATSOption.durable(name, as: name) }
    }

    @Test(
      "A prefix of inboxes that no server takes stops the program",
      arguments: ["", "a..b", "a.*", "a b", String(repeating: "a", count: 513)])
    func otherPrefixes(prefix: String) async {
      _ = NATSOption.inboxPrefix(String(repeating: "a", count: 512))
      await #expect(processExitsWith: .failure) { [prefix] in
        _ = NATSOption.inboxPrefix(prefix)
      }
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
