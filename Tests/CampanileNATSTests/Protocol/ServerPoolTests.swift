#if NATS
  import TestSupport
  import Testing

  @testable import CampanileNATS

  @Suite("Addresses of servers of NATS")
  struct ServerAddressTests {
    @Test("Schemes, ports, names and addresses")
    func addresses() throws {
      #expect(try ServerAddress.parse("a").address.description == "nats://a:4222")
      #expect(try ServerAddress.parse("nats://a:1").address == ServerAddress(host: "a", port: 1))
      #expect(try ServerAddress.parse("TLS://a/").address.description == "tls://a:4222")
      #expect(try ServerAddress.parse("[::1]:5").address == ServerAddress(host: "::1", port: 5))
      #expect(try ServerAddress.parse("[::1]").address.description == "nats://[::1]:4222")
      #expect(try ServerAddress.parse("127.0.0.1").address.isNumeric)
      #expect(try !ServerAddress.parse("localhost").address.isNumeric)
    }

    @Test("Who to be, and no description shows it")
    func users() throws {
      let (address, user) = try ServerAddress.parse("nats://me:s%40cret@host:9")
      #expect(user == .user("me", password: Secret("s@cret")))
      #expect(
        try ServerAddress.parse("nats://t0ken@host").authentication == .token(Secret("t0ken")))
      var options = [NATSOption.user("me", password: "s@cret"), .token("s@cret")]
      #if NKeys
        options.append(.nkey(seed: "s@cret"))
      #endif
      var configuration = try NATSConfiguration(servers: "nats://me:s%40cret@host:9")
      var texts = [
        "\(address)", "\(user)", "\(options)", "\(configuration)", String(reflecting: user),
      ]
      texts += [String(reflecting: configuration)]
      for option in options {
        option.apply(&configuration)
        texts.append("\(configuration)")
        var dumped = ""
        dump(configuration, to: &dumped)
        texts.append(dumped)
      }
      for text in texts { #expect(!text.contains("s@cret") && !text.contains("s%40cret")) }
    }

    @Test(
      "Percent signs without two hexadecimal digits after them stay in a password as they are",
      arguments: ["%+5", "%-0", "5%", "%5", "%5g", "%%"])
    func incompleteEscapes(password: String) throws {
      let (_, user) = try ServerAddress.parse("nats://me:\(password)%2f%2F@host")
      #expect(user == .user("me", password: Secret(password + "//")))
    }

    @Test(
      "What is no address is refused with what was given, without a secret",
      arguments: [
        "", "http://a", "a:0", "a:x", "a:70000", "nats://me:s3cret@", "a b", "ws://a", ",",
        "nats://me:s3cret@a,nats://you:s3cret@b", "nats://s3cret@a,nats://me:s3cret@b",
      ])
    func refusals(text: String) {
      do throws(NATSAddressError) {
        _ = try NATSConfiguration(servers: text)
        Issue.record("\(text) was taken.")
      } catch {
        #expect(!error.description.contains("s3cret"))
      }
    }
  }

  @Suite("Servers of NATS that are tried")
  struct ServerPoolTests {
    private let servers = ["a", "b", "c"].map { ServerAddress(host: $0, port: 1) }

    private func connects(
      _ pool: inout ServerPool, _ dice: inout SeededGenerator, _ count: Int
    ) -> [ServerAddress] {
      (0..<count).compactMap { _ in
        if case .connect(let address) = pool.next(&dice) { address } else { nil }
      }
    }

    @Test("The longest pause is the one that was set")
    func longestPause() throws {
      let servers = try NATSConfiguration(servers: "nats://a").servers
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, longestPause: 30_000, &dice)
      var pauses: [Int] = []
      for _ in 1...40 {
        if case .wait(let pause) = pool.next(&dice) { pauses.append(pause) }
      }
      #expect(pauses.dropFirst(10).allSatisfy { (15_000...30_000).contains($0) })
    }

    @Test("Servers that are not reported any more are tried when no other can be reached")
    func unreported() throws {
      let servers = try NATSConfiguration(servers: "nats://a").servers
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, &dice)
      pool.learn(["a:4222", "b:4222"])
      pool.learn(["a:4222"])
      #expect(pool.all.map(\.description) == ["nats://a:4222"])
      func pass() -> [String] {
        var hosts: [String] = []
        while case .connect(let address) = pool.next(&dice) { hosts.append(address.host) }
        return hosts.sorted()
      }
      #expect(pass() == ["a"])
      #expect(pass() == ["a", "b"])
      // Only so many are remembered.
      for number in 1...100 { pool.learn(["s\(number):1"]) }
      _ = pass()
      #expect(pass().count < 30)
    }

    @Test("Of servers that are not reported any more, one is tried in each pass, after all others")
    func manyUnreported() {
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, &dice)
      pool.learn((1...40).map { "s\($0):1" })
      pool.learn([])
      #expect(connects(&pool, &dice, 4).count == 3)
      var unreported: Set<ServerAddress> = []
      for _ in 1...40 {
        let pass = connects(&pool, &dice, 5)
        #expect(pass.count == 4 && Set(pass.prefix(3)) == Set(servers))
        unreported.formUnion(pass.dropFirst(3))
      }
      // Only so many are remembered.
      #expect(unreported.count == 16)
    }

    @Test("Who says whom to trust, or who to be, wants encryption")
    func encrypted() throws {
      let options = [
        NATSOption.trusting("ca.pem"), .certificate("me.pem", key: "me.key"), .tlsFirst,
      ]
      for option in options {
        var configuration = try NATSConfiguration(servers: "nats://a")
        #expect(!configuration.tls.isRequired)
        option.apply(&configuration)
        #expect(configuration.tls.isRequired)
      }
    }

    @Test("Options set whole seconds, rounded up")
    func times() throws {
      var configuration = try NATSConfiguration(servers: "nats://a")
      let options = [
        NATSOption.connectTimeout(.milliseconds(1_500)), .pingInterval(.seconds(120)),
        .reconnectDelay(upTo: .seconds(30)),
      ]
      for option in options { option.apply(&configuration) }
      #expect(configuration.connectTimeout == 2)
      #expect(configuration.pingInterval == 120)
      #expect(configuration.longestPause == 30_000)
      #expect(options[1].description == "pingInterval(120.0 seconds)")
    }

    @Test("Each is tried at once, then after a pause that grows to two seconds, for ever")
    func passes() {
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, &dice)
      var pauses: [Int] = []
      for _ in 0..<200 {
        #expect(Set(connects(&pool, &dice, 3)) == Set(servers))
        if case .wait(let pause) = pool.next(&dice) { pauses.append(pause) }
      }
      #expect(pauses.count == 200)
      #expect(pauses[0] <= 100)
      #expect(pauses.dropFirst(10).allSatisfy { (1_000...2_000).contains($0) })
      #expect(Set(pauses.dropFirst(10)).count > 20)
    }

    @Test(
      "There is a pause after each pass, though each server reports the others before it fails",
      arguments: [true, false])
    func reportsBeforeFailing(isShuffled: Bool) {
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, isShuffled: isShuffled, &dice)
      var pauses = 0
      for _ in 0..<1_000 {
        if case .wait = pool.next(&dice) { pauses += 1 }
        pool.learn(["a:1", "b:1", "d:1"])
      }
      // Three that were given, and one that is reported.
      #expect(pauses >= 199)
      #expect(pauses <= 251)
    }

    @Test("After a connection the others are tried first, and its server at once after them")
    func reconnecting() {
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, &dice)
      _ = connects(&pool, &dice, 3)
      pool.lost(servers[1], &dice)
      let order = connects(&pool, &dice, 3)
      #expect(order.last == servers[1])
      #expect(Set(order) == Set(servers))
    }

    @Test("In the given order, those that are reported come later, and the one that ended is last")
    func givenOrder() throws {
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, isShuffled: false, &dice)
      #expect(connects(&pool, &dice, 3) == servers)
      #expect(connects(&pool, &dice, 1) == [])
      #expect(connects(&pool, &dice, 3) == servers)
      pool.learn(["d:1", "a:1", "e:1"])
      pool.lost(servers[1], &dice)
      let learned = ["d", "e"].map { ServerAddress(host: $0, port: 1) }
      #expect(connects(&pool, &dice, 5) == [servers[0], servers[2]] + learned + [servers[1]])
    }

    @Test("What a server reports before it refuses is tried after the pause")
    func reportedByRefusing() {
      var dice = SeededGenerator(1)
      var pool = ServerPool(servers, isShuffled: false, &dice)
      #expect(connects(&pool, &dice, 1) == [servers[0]])
      pool.learn(["d:1"])
      let reported = ServerAddress(host: "d", port: 1)
      #expect(connects(&pool, &dice, 3) == [servers[1], servers[2]])
      #expect(connects(&pool, &dice, 4) == servers + [reported])
    }

    @Test("Servers that others tell are tried too, until they are told no more")
    func gossip() throws {
      var dice = SeededGenerator(1)
      var pool = ServerPool([ServerAddress(host: "a", port: 1, isSecure: true)], &dice)
      _ = connects(&pool, &dice, 1)
      pool.learn(["10.0.0.1:2", "a:1", "no port:x"])
      let learned = ServerAddress(host: "10.0.0.1", port: 2, isSecure: true)
      #expect(pool.all.contains(learned))
      // Its certificate has the name of a server that was given.
      #expect(pool.certificateName(of: learned) == "a")
      pool.learn([])
      #expect(pool.all == pool.given)
    }
  }
#endif
