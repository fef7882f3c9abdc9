#if Page
  import Campanile
  import Testing
  import TestSupport

  @testable import CampanileInspector

  /// A request that is refused, made from a page's address.
  struct Intrusion: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: PageStatus
    /// The first line, the host and further fields; SECRET, HOST and PORT stand for those of the page.
    private let start: String
    private let host: String
    private let fields: [String]

    init(
      _ name: String, _ status: PageStatus, _ start: String = "GET /SECRET/ HTTP/1.1",
      host: String = "Host: HOST", _ fields: String...
    ) {
      testDescription = name
      (self.status, self.start, self.host, self.fields) = (status, start, host, fields)
    }

    func request(_ secret: String, _ host: String) -> String {
      func wrong(_ digit: Character?) -> String { digit == "0" ? "1" : "0" }
      let parts = [
        ("LAST-WRONG", "\(secret.dropLast())\(wrong(secret.last))"),
        ("FIRST-WRONG", "\(wrong(secret.first))\(secret.dropFirst())"),
        ("PART", "\(secret.prefix(31))"), ("SECRET", secret), ("HOST", host),
        ("PORT", "\(host.split(separator: ":")[1])"),
      ]
      let lines = [start] + (self.host.isEmpty ? [] : [self.host]) + fields + [""]
      return parts.reduce(lines.map { $0 + "\r\n" }.joined()) { text, part in
        text.replacing(part.0, with: part.1)
      }
    }

    static let all = [
      Intrusion("no secret", .notFound, "GET / HTTP/1.1"),
      Intrusion("events without the secret", .notFound, "GET /events HTTP/1.1"),
      Intrusion("the last digit is wrong", .notFound, "GET /LAST-WRONG/ HTTP/1.1"),
      Intrusion("the first digit is wrong", .notFound, "GET /FIRST-WRONG/events HTTP/1.1"),
      Intrusion("a part of the secret", .notFound, "GET /PART/ HTTP/1.1"),
      Intrusion("more than the secret", .notFound, "GET /SECRET0/ HTTP/1.1"),
      Intrusion("something else below the secret", .notFound, "GET /SECRET/passwd HTTP/1.1"),
      Intrusion("a search of something else", .notFound, "GET /SECRET/passwd?search=a HTTP/1.1"),
      Intrusion("a way up", .notFound, "GET /SECRET/../../ HTTP/1.1"),
      Intrusion("a name bound to this address", .forbidden, host: "Host: evil.example:PORT"),
      Intrusion("this host without its port", .forbidden, host: "Host: 127.0.0.1"),
      Intrusion("this host with something before it", .forbidden, host: "Host: evil.HOST"),
      Intrusion("no host", .forbidden, host: ""),
      Intrusion("two hosts", .badRequest, document, "Host: evil.example"),
      Intrusion("another origin", .forbidden, events, "Origin: http://evil.example"),
      Intrusion(
        "an origin that begins like this one", .forbidden, events,
        "Origin: http://HOST.evil.example"),
      Intrusion(
        "this origin with another scheme", .forbidden, events, "Origin: https://HOST"),
      Intrusion("an origin without a name", .forbidden, events, "Origin: null"),
      Intrusion(
        "two origins", .badRequest, document, "Origin: http://HOST", "Origin: null"),
      Intrusion(
        "POST", .methodNotAllowed, "POST /SECRET/ HTTP/1.1", "Content-Length: 4", "", "ring"),
      Intrusion("PUT", .methodNotAllowed, "PUT /SECRET/ HTTP/1.1"),
      Intrusion(
        "OPTIONS", .methodNotAllowed, "OPTIONS /SECRET/events HTTP/1.1", "Origin: http://HOST"),
      Intrusion("a method in small letters", .methodNotAllowed, "get /SECRET/ HTTP/1.1"),
      Intrusion("another version", .badRequest, "GET /SECRET/ HTTP/1.0"),
      Intrusion("a whole address as the path", .badRequest, "GET http://HOST/SECRET/ HTTP/1.1"),
      Intrusion("a field without a colon", .badRequest, document, "nonsense"),
      Intrusion("a field with a space in its name", .badRequest, host: "Host : HOST"),
      Intrusion("no request at all", .badRequest, "", host: ""),
      Intrusion(
        "a line that never ends", .headerTooLarge,
        "GET /SECRET/\(String(repeating: "a", count: 1_000_000)) HTTP/1.1"),
      Intrusion(
        "a huge header", .headerTooLarge, document,
        String(
          repeating: "X-Filler: \(String(repeating: "a", count: 1_000))\r\n", count: 1_000)),
    ]

    private static let document = "GET /SECRET/ HTTP/1.1"
    private static let events = "GET /SECRET/events HTTP/1.1"
  }

  @Suite("What an intruder tries at the page")
  struct PageIntruderTests {
    let inspector = Inspector(of: MessageCenter())

    @Test("Is refused with a status, and told nothing", arguments: Intrusion.all)
    func refused(_ intrusion: Intrusion) async throws {
      let page = try await inspector.serve(.patient)
      for host in ["127.0.0.1:\(page.port)", "localhost:\(page.port)"] {
        let answer = try await PageClient.ask(page, intrusion.request(page.secret, host))
        #expect(answer.head.hasPrefix("HTTP/1.1 \(intrusion.status.rawValue)\r\n"))
        #expect(answer.body.isEmpty)
        #expect(answer.head.contains("Content-Length: 0"))
        #expect(!answer.text.contains(page.secret))
        #expect(!answer.text.lowercased().contains("access-control"))
      }
      // Whatever it was, the page is still there.
      #expect(try await PageClient.ask(page, page.request()).status == 200)
      await page.stop()
    }

    @Test(
      "A page on port 80 is found without the port, and others are not",
      arguments: ["127.0.0.1", "localhost"])
    func withoutPort(host: String) throws {
      let text = "GET /secret/ HTTP/1.1\r\nHost: \(host)\r\nOrigin: http://\(host)\r\n"
      let request = try PageRequest(text)
      #expect(PageAccess(port: 80, secret: "secret").answer(to: request) == .document)
      #expect(
        PageAccess(port: 8_080, secret: "secret").answer(to: request) == .refusal(.forbidden))
      let evil = try PageRequest("GET /secret/ HTTP/1.1\r\nHost: evil.example\r\n")
      #expect(PageAccess(port: 80, secret: "secret").answer(to: evil) == .refusal(.forbidden))
    }

    @Test("A request that arrives in two pieces is read, wherever it is cut")
    func pieces() async throws {
      let bytes = Array("GET /secret/ HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
      for cut in 1..<bytes.count {
        var pieces = [bytes[cut...], bytes[..<cut]]
        let request = try? await PageRequest.read(atMost: 1_000) { _ in
          // Without this error, a reader that misses the end would wait for a third piece.
          guard let piece = pieces.popLast() else { throw PageStatus.badRequest }
          return Array(piece)
        }
        #expect(request?.host == "localhost", "cut after \(cut) bytes")
      }
    }

    @Test("A request that is not UTF-8 is refused")
    func nonsense() async throws {
      let page = try await inspector.serve(.patient)
      let client = try await PageClient(page)
      try await client.send(bytes: Array("GET /".utf8) + [0xFF, 0xFE] + Array("\r\n\r\n".utf8))
      #expect(try await client.readToEnd().status == 400)
      client.close()
      await page.stop()
    }

    @Test("A request that goes on without end is cut off")
    func endless() async throws {
      var limits = PageLimits.patient
      limits.refusedBytes = 100_000
      let page = try await inspector.serve(limits)
      let client = try await PageClient(page)
      let block = [UInt8](repeating: 0x61, count: 65_536)
      await #expect(throws: (any Error).self) {
        for _ in 0..<1_000 { try await client.send(bytes: block) }
      }
      client.close()
      #expect(try await PageClient.ask(page, page.request()).status == 200)
      await page.stop()
    }

    @Test("Half a request that never ends is cut off, and makes room for others")
    func halfRequest() async throws {
      var limits = PageLimits.patient
      limits.connections = 2
      limits.patience = .milliseconds(300)
      let page = try await inspector.serve(limits)
      let half = page.request().dropLast(2)
      let clients = [try await PageClient(page), try await PageClient(page)]
      for client in clients { try await client.send(String(half)) }
      for client in clients { #expect(try await client.readToEnd().text.isEmpty) }
      // On a busy machine this one may be cut off, too.
      try await answer {
        try await PageClient.ask(page, page.request()).status == 200 ? () : nil
      }
      for client in clients { client.close() }
      await page.stop()
    }

    // Many more than the connections and the browsers that a page has at a time.
    @Test("A thousand requests are each answered, and the page goes on")
    func thousand() async throws {
      let page = try await inspector.serve(.patient)
      let wrong = "GET /guess/ HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n\r\n"
      let refused = try await withThrowingTaskGroup { group in
        for _ in 0..<100 {
          group.addTask {
            var count = 0
            for _ in 0..<10 where try await PageClient.ask(page, wrong).status == 404 {
              count += 1
            }
            return count
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(refused == 1_000)
      #expect(try await PageClient.ask(page, page.request()).status == 200)
      await page.stop()
    }

    @Test("More browsers than are allowed are told to come later")
    func streams() async throws {
      var limits = PageLimits.patient
      limits.streams = 2
      let page = try await inspector.serve(limits)
      let first = try await PageEvents(page)
      let second = try await PageEvents(page)
      #expect(try await PageClient.ask(page, page.request("events")).status == 503)
      #expect((first != nil, second != nil) == (true, true))
      await page.stop()
    }

    @Test("The secret has 128 bits, and each page its own")
    func secrets() async throws {
      let pages = [try await inspector.serve(.patient), try await inspector.serve(.patient)]
      for page in pages {
        #expect(page.secret.count == 32)
        #expect(page.secret.allSatisfy { $0.isHexDigit })
        #expect(page.url == "http://127.0.0.1:\(page.port)/\(page.secret)/")
        #expect("\(page)" == page.url)
      }
      #expect(pages[0].secret != pages[1].secret)
      let other = "GET /\(pages[1].secret)/ HTTP/1.1\r\nHost: 127.0.0.1:\(pages[0].port)\r\n\r\n"
      #expect(try await PageClient.ask(pages[0], other).status == 404)
      for page in pages { await page.stop() }
    }
  }
#endif
