#if NATS
  import Campanile
  @testable import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import NIOCore
  import NIOPosix
  import RelayTestSupport
  import TestSupport
  import Testing

  #if NKeys
    import Crypto
  #endif

  extension Relay {
    /// The first state that is wanted.
    func first(
      _ isWanted: @escaping @Sendable (RelayState) -> Bool
    ) async throws -> RelayState {
      let states = Recorder<RelayState>(timeout: patience)
      let token = state.observe(options: .initial) { states.record($0) }
      do {
        while true {
          let state = try await states.next()
          if isWanted(state) { return withExtendedLifetime(token) { state } }
        }
      } catch {
        throw ServerFailure(description: "It is none of \(states.values)")
      }
    }

    /// Waits until there is a connection, or none for a reason that has a text.
    ///
    /// On a busy machine a connection may have failed before because it took too long.
    ///
    /// - Returns: The reason.
    @discardableResult
    func reaches(_ text: String) async throws -> String {
      let state = try await first { state in
        switch state {
        case .connected: text == "connected"
        case .unavailable(let reason): reason.contains(text)
        default: false
        }
      }
      return "\(state)"
    }
  }

  @Suite("Who may use a server of NATS", .withServers, .timeLimit(.minutes(5)))
  struct AuthenticationAtServersTests {
    @Test("Names and passwords, in an option or in the address", arguments: NATSServer.programs)
    func passwords(program: String) async throws {
      let server = try NATSServer(program, "authorization { user: me, password: \"pw@1\" }")
      let right = Relay(.nats(server.url, .user("me", password: "pw@1"), .pedantic))
      try await right.reaches("connected")
      let address = Relay(.nats("nats://me:pw%401@127.0.0.1:\(server.port)"))
      try await address.reaches("connected")
      let wrong = Relay(.nats(server.url, .user("me", password: "s3cret")))
      let reason = try await wrong.reaches("Authorization Violation")
      #expect(!reason.contains("s3cret"))
      try await Relay(.nats(server.url)).reaches("Authorization Violation")
    }

    @Test("Tokens", arguments: NATSServer.programs)
    func tokens(program: String) async throws {
      let server = try NATSServer(program, "authorization { token: t0ken }")
      try await Relay(.nats(server.url, .token("t0ken"))).reaches("connected")
      try await Relay(.nats(server.url, .token("other"))).reaches("Authorization Violation")
    }

    #if NKeys
      private let seed = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
      private let publicKey = "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK"

      @Test("Keys", arguments: NATSServer.programs)
      func keys(program: String) async throws {
        let server = try NATSServer(
          program, "authorization { users = [ { nkey: \(publicKey) } ] }")
        try await Relay(.nats(server.url, .nkey(seed: seed))).reaches("connected")
        let broken = Relay(.nats(server.url, .nkey(seed: "SUBROKEN")))
        let reason = try await broken.reaches("nkey seed")
        #expect(!reason.contains("SUBROKEN"))
      }

      @Test("Files of credentials", arguments: NATSServer.programs)
      func credentials(program: String) async throws {
        let (operator_, account) = (Issuer(14), Issuer(0))
        let server = try NATSServer(
          program,
          """
          operator: \(operator_.token(for: operator_.publicKey, "operator"))
          resolver: MEMORY
          resolver_preload: {
            \(account.publicKey): \(operator_.token(for: account.publicKey, "account"))
          }
          """)
        let file = server.folder.appending(path: "user.creds")
        try """
        -----BEGIN NATS USER JWT-----
        \(account.token(for: publicKey, "user"))
        ------END NATS USER JWT------

        -----BEGIN USER NKEY SEED-----
        \(seed)
        ------END USER NKEY SEED------
        """.write(to: file, atomically: true, encoding: .utf8)
        try await Relay(.nats(server.url, .credentials(file.path))).reaches("connected")
        let missing = Relay(.nats(server.url, .credentials(file.path + ".none")))
        try await missing.reaches("can't be read")
      }

      /// Whoever signs tokens for servers.
      private struct Issuer {
        let key = Curve25519.Signing.PrivateKey()
        let publicKey: String

        init(_ kind: UInt8) {
          let raw = [kind << 3] + [UInt8](key.publicKey.rawRepresentation)
          let sum = raw.crc16
          publicKey = Base32.encode(raw + [UInt8(sum & 0xFF), UInt8(sum >> 8)])
        }

        func token(for subject: String, _ type: String) -> String {
          let limits = #""subs":-1,"data":-1,"payload":-1"#
          let more =
            type == "account"
            ? #","limits":{\#(limits),"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1}"#
            : type == "user" ? ",\(limits)" : ""
          let head = [UInt8](#"{"typ":"JWT","alg":"ed25519-nkey"}"#.utf8).base64URL
          let body = [UInt8](
            #"{"jti":"x","iat":1,"iss":"\#(publicKey)","name":"n","sub":"\#(subject)","nats":{"type":"\#(type)","version":2\#(more)}}"#
              .utf8
          ).base64URL
          let signature = try? key.signature(for: Array("\(head).\(body)".utf8))
          return "\(head).\(body).\([UInt8](signature ?? Data()).base64URL)"
        }
      }
    #endif
  }

  @Suite("Encrypted connections with servers of NATS", .withServers, .timeLimit(.minutes(5)))
  struct TLSTests {
    /// A folder with a certificate for 127.0.0.1 and localhost, and one for a client.
    private func certificates() throws -> URL {
      let folder = URL(filePath: "/tmp/tls\(UInt32.random(in: 0 ... .max))")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let script = """
        set -e
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
        for name in server client; do
          openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
          printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > ext
          openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
            -extfile ext -out $name.pem
        done
        """
      let process = Process()
      let end = ProgramEnd(of: process)
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments = ["-c", script]
      process.currentDirectoryURL = folder
      _ = try process.start().readDataToEndOfFile()
      end.wait()
      try #require(process.terminationStatus == 0, "openssl has failed")
      return folder
    }

    private func configuration(_ folder: URL, _ more: String = "") -> String {
      """
      tls { cert_file: "\(folder.path)/server.pem", key_file: "\(folder.path)/server.key"
        ca_file: "\(folder.path)/ca.pem" \(more) }
      """
    }

    @Test("A certificate is verified unless it is said otherwise", arguments: NATSServer.programs)
    func verification(program: String) async throws {
      let folder = try certificates()
      defer { try? FileManager.default.removeItem(at: folder) }
      let server = try NATSServer(program, configuration(folder), arguments: ["-a", "0.0.0.0"])
      let ca = folder.path + "/ca.pem"
      let trusting = Relay(.nats(server.url, .trusting(ca), .pedantic))
      try await trusting.reaches("connected")
      let name = Relay(.nats("tls://localhost:\(server.port)", .trusting(ca)))
      try await name.reaches("connected")
      try await Relay(.nats(server.url)).reaches("none that the system trusts has signed it.")
      let own = Relay(.nats(server.url, .trusting(folder.path + "/server.pem")))
      try await own.reaches("no certificate in \(folder.path)/server.pem has signed it.")
      let key = Relay(.nats(server.url, .trusting(folder.path + "/ca.key")))
      try await key.reaches("\(folder.path)/ca.key can't be read as a PEM file with certificates.")
      try await Relay(.nats(server.url, .acceptingAnyCertificate)).reaches("connected")
      let post = ["--nats", server.url, "--ca", ca, "post", "a", "1"]
      #expect(try await CommandProcess(post).result().status == 0)
      // The certificate is for another name.
      let other = Relay(.nats("tls://127.0.0.2:\(server.port)", .trusting(ca)))
      try await other.reaches("the server's certificate is not for 127.0.0.2.")
    }

    @Test(
      "A server without TLS is refused where the address asks for it",
      arguments: NATSServer.programs)
    func noTLS(program: String) async throws {
      let server = try NATSServer(program)
      let relay = Relay(.nats("tls://127.0.0.1:\(server.port)"))
      try await relay.reaches("doesn't offer TLS")
    }

    @Test("A server may ask for the client's certificate", arguments: NATSServer.programs)
    func clientCertificate(program: String) async throws {
      let folder = try certificates()
      defer { try? FileManager.default.removeItem(at: folder) }
      let server = try NATSServer(program, configuration(folder, ", verify: true"))
      let path = folder.path
      let relay = Relay(
        .nats(
          server.url, .trusting(path + "/ca.pem"),
          .certificate(path + "/client.pem", key: path + "/client.key")))
      try await relay.reaches("connected")
      let none = try await Relay(.nats(server.url, .trusting(path + "/ca.pem"))).reaches(
        "TLS failed")
      #expect(none.contains("alert") && !none.contains(".cc"))
      let others = Relay(
        .nats(
          server.url, .trusting(path + "/ca.pem"),
          .certificate(path + "/client.pem", key: path + "/server.key")))
      try await others.reaches(
        "the key in \(path)/server.key is not that of the certificate in \(path)/client.pem.")
    }

    @Test(
      "TLS may begin before the server says anything", arguments: NATSServer.programs(since: 10))
    func tlsFirst(program: String) async throws {
      let folder = try certificates()
      defer { try? FileManager.default.removeItem(at: folder) }
      let server = try NATSServer(program, configuration(folder, ", handshake_first: true"))
      let ca = folder.path + "/ca.pem"
      let (one, two) = (
        Member(.nats(server.url, .trusting(ca), .tlsFirst)),
        Member(.nats(server.url, .trusting(ca), .tlsFirst))
      )
      try await two.relay.flush()
      one.post(1...100)
      #expect(try await two.ticks.next(100) == Array(1...100))
      withExtendedLifetime((one, two)) {}
    }
  }

  @Suite("Servers that are none", .withServers, .timeLimit(.minutes(5)))
  struct HostileServerTests {
    /// Says something to a client, and nothing more, or pings after that.
    private final class Speaker: ChannelInboundHandler, Sendable {
      typealias InboundIn = ByteBuffer
      private let text: String
      private let pings: Bool

      init(_ text: String, pings: Bool) { (self.text, self.pings) = (text, pings) }

      func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        channel.writeAndFlush(ByteBuffer(string: text)).whenSuccess { [pings] in
          if pings { Self.flood(channel) }
        }
      }

      /// Sends pings until that fails.
      private static func flood(_ channel: any Channel) {
        let pings = ByteBuffer(string: String(repeating: "PING\r\n", count: 10_000))
        channel.writeAndFlush(pings).whenSuccess { flood(channel) }
      }
    }

    /// Says something to each client, and reads nothing if it pings after that.
    private func hostile(_ text: String, pings: Bool = false) async throws -> any Channel {
      try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.socketOption(.so_rcvbuf), value: 65_536)
        .childChannelOption(.autoRead, value: !pings)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Speaker(text, pings: pings))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    }

    private static let greeting = "INFO {\"headers\":true,\"max_payload\":1048576}\r\n"

    @Test(
      "Garbage, giant lengths and silence are survived, and another server is found",
      arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n", String(repeating: "x", count: 100_000), "\r\n",
        greeting + "MSG a 1 99999999999999\r\n", greeting + "PONG\r\nHMSG a 1 9999999999 1\r\n",
        greeting + "MSG a 1 1\r\nx\r\n", greeting + "-ERR 'Authorization Violation'\r\n",
        "INFO {\"headers\":true,\"tls_required\":true}\r\n+OK\r\n", "", greeting,
        "INFO {\"connect_urls\":[\"\",\"\\u0000\",\"a b\"],\"headers\":true}\r\nPONG\r\nPONG\r\nx",
      ])
    func survival(text: String) async throws {
      let program = try #require(NATSServer.programs.first)
      let (server, bad) = (try NATSServer(program), try await hostile(text))
      let port = try #require(bad.localAddress?.port)
      let one = Member(
        .nats(
          "nats://127.0.0.1:\(port),\(server.url)", .inGivenOrder, .connectTimeout(.seconds(1)),
          .pingInterval(.seconds(1))))
      let two = Member(.nats(server.url))
      // A hostile server may have said that it is one, before it breaks the protocol.
      try await Cluster.connect(one, two)
      try await Cluster.connect(two, one)
      one.post([1])
      #expect(try await two.ticks.next() == 1)
      try await bad.close().get()
      withExtendedLifetime((one, two)) {}
    }

    @Test("R6 A server that pings for ever and reads nothing is left")
    func pingFlood() async throws {
      let server = try await hostile(Self.greeting + "PONG\r\n", pings: true)
      let port = try #require(server.localAddress?.port)
      let relay = Relay(.nats("nats://127.0.0.1:\(port)", .pingInterval(.seconds(1))))
      // Millions of pings are answered before: that may take as long as a busy machine needs.
      let reasons = Recorder<String>(timeout: patience * 4)
      let token = relay.events.observe { reasons.record($0.reason) }
      while try await !reasons.next().contains("said nothing after two pings") {}
      withExtendedLifetime((relay, token)) {}
      try await server.close().get()
    }

    @Test("An address that is none is the reason why there is no connection")
    func noAddress() async throws {
      for (address, reason) in [
        ("http://me:s3cret@host", "neither nats nor tls"),
        ("s3cret://host", "neither nats nor tls"),
        ("nats://me:s3cret", "a port that is no number"),
        ("nats://me:s3cret,word@host", "a port that is no number"),
        ("nats://host/s3cret", "without a host"),
      ] {
        let text = try await Relay(.nats(address)).reaches(reason)
        #expect(!text.contains("s3cret"))
      }
      try await Relay(.nats("nats://127.0.0.1:1")).reaches("refused")
      try await Relay(.nats("nats://no-such-host.invalid")).reaches(
        "The name no-such-host.invalid can't be looked up: ")
    }
  }
#endif
