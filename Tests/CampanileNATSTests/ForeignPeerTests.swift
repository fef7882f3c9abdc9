#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import TestSupport
  import Testing

  /// Python with the client nats-py, which `CAMPANILE_NATS_PYTHON` names.
  private enum Python {
    static let program = ProcessInfo.processInfo.environment["CAMPANILE_NATS_PYTHON"]

    /// - Parameter body: Statements of a coroutine, in which `nc` is the client.
    static func run(_ url: String, _ body: String) throws -> Peer {
      let statements = body.split(separator: "\n", omittingEmptySubsequences: false)
        .map { "  " + $0 }.joined(separator: "\n")
      let script = """
        import asyncio, sys, json, nats
        def say(text): print(text, flush=True)
        async def hear(): return await asyncio.to_thread(sys.stdin.readline)
        async def main():
          nc = await nats.connect("\(url)")
        \(statements)
          await nc.drain()
        asyncio.run(main())
        """
      return try Peer(program ?? "", ["-c", script])
    }
  }

  @Suite(
    "Messages to and from the client of NATS for Python", .timeLimit(.minutes(5)),
    .enabled(if: Python.program != nil, "CAMPANILE_NATS_PYTHON names no Python with nats-py"))
  struct ForeignPeerTests {
    @Test(
      "What Python publishes is heard, and what is posted, Python hears",
      arguments: NATSServer.programs)
    func messages(program: String) async throws {
      let server = try NATSServer(program)
      let one = Member(.nats(server.url, .pedantic))
      try await one.relay.flush()
      let peer = try Python.run(
        server.url,
        """
        sub = await nc.subscribe("clock.tick")
        await nc.publish("clock.tick", b'{"number":7}')
        await nc.publish("clock.tick", b'{"number":8}', headers={"Any": "thing"})
        await nc.flush()
        while True:
          message = await sub.next_msg(timeout=30)
          if json.loads(message.data)["number"] == 9: break
        say(message.headers["Campanile"].split()[1])
        """)
      #expect(try await one.ticks.next(2) == [7, 8])
      one.post([9])
      #expect(try await peer.hear() == "1")
      withExtendedLifetime((one, peer)) {}
    }

    @Test(
      "Requests are answered both ways, and failures are those of services",
      arguments: NATSServer.programs)
    func requests(program: String) async throws {
      let server = try NATSServer(program)
      let one = Member(.nats(server.url, .pedantic))
      let token = one.answerDouble()
      try await one.relay.flush()
      let peer = try Python.run(
        server.url,
        """
        async def answer(message): await message.respond(b"py:" + message.data)
        async def fail(message):
          await nc.publish(message.reply, b"", headers={
            "Nats-Service-Error": "no time", "Nats-Service-Error-Code": "500"})
        await nc.subscribe("python", cb=answer)
        await nc.subscribe("fail", cb=fail)
        await nc.flush()
        say((await nc.request("double", b"ab", timeout=30)).data.decode())
        failed = await nc.request("double", b"", timeout=30)
        say(failed.headers["Nats-Service-Error"])
        await hear()
        """)
      #expect(try await peer.hear() == "abab")
      #expect(try await peer.hear() == "nothing to double")
      let answer = try await one.relay.request(
        raw: Array("x".utf8), to: "python", within: patience)
      #expect(String(decoding: answer, as: UTF8.self) == "py:x")
      do {
        _ = try await one.relay.request(raw: [], to: "fail", within: patience)
        Issue.record("The failure was taken for an answer.")
      } catch let error as RelayError {
        #expect(error.code == .failed)
        #expect(error.message == "no time")
      }
      try peer.say("")
      withExtendedLifetime((one, token, peer)) {}
    }

    @Test(
      "A stream that Python fills is heard, and what is stored, Python reads",
      arguments: NATSServer.programs)
    func stream(program: String) async throws {
      let server = try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
      let one = Member(.nats(server.url, .durable("S", creating: ["clock.>"]), .pedantic))
      try await one.relay.flush()
      one.post(1...3)
      try await one.relay.flush()
      let peer = try Python.run(
        server.url,
        """
        js = nc.jetstream()
        sub = await js.pull_subscribe("clock.tick", "py", stream="S")
        for message in await sub.fetch(3, timeout=30):
          say(json.loads(message.data)["number"])
          await message.ack()
        ack = await js.publish("clock.tick", b'{"number":4}', headers={"Nats-Msg-Id": "x"})
        again = await js.publish("clock.tick", b'{"number":4}', headers={"Nats-Msg-Id": "x"})
        say(f"{ack.seq} {again.seq} {again.duplicate}")
        """)
      for number in 1...3 { #expect(try await peer.hear() == "\(number)") }
      #expect(try await peer.hear() == "4 4 True")
      #expect(try await one.ticks.next(4) == [1, 2, 3, 4])
      try one.ticks.expectNothingMore()
      withExtendedLifetime((one, peer)) {}
    }
  }
#endif
