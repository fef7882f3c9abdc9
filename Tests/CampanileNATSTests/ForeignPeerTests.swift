#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import RelayTestSupport
  import TestSupport
  import Testing

  /// Python with the client nats-py, which `CAMPANILE_NATS_PYTHON` names.
  private enum Python {
    static let program = ProcessInfo.processInfo.environment["CAMPANILE_NATS_PYTHON"]

    static func run(_ url: String, _ task: String) throws -> Peer {
      try Peer(program ?? "", ["-c", text, url, task])
    }

    /// Does what its second argument says, at the server that the first one names.
    private static let text = """
      import asyncio, sys, json, nats
      def say(text): print(text, flush=True)
      async def messages(nc):
        sub = await nc.subscribe("clock.tick")
        await nc.publish("clock.tick", b'{"number":7}')
        await nc.publish("clock.tick", b'{"number":8}', headers={"Any": "thing"})
        await nc.flush()
        for _ in range(3): message = await sub.next_msg(timeout=30)
        say(message.data.decode())
        say(message.headers["Campanile"])
      async def requests(nc):
        async def answer(message): await message.respond(b"peer:" + message.data)
        async def fail(message):
          await nc.publish(message.reply, b"", headers={
            "Nats-Service-Error": "no time", "Nats-Service-Error-Code": "500"})
        await nc.subscribe("peer", cb=answer)
        await nc.subscribe("fail", cb=fail)
        await nc.flush()
        say((await nc.request("double", b"ab", timeout=30)).data.decode())
        failed = await nc.request("double", b"", timeout=30)
        say(failed.headers["Nats-Service-Error"])
        await asyncio.to_thread(sys.stdin.readline)
      async def stream(nc):
        js = nc.jetstream()
        sub = await js.pull_subscribe("clock.tick", "py", stream="S")
        for message in await sub.fetch(3, timeout=30):
          say(message.data.decode())
          await message.ack()
        for _ in range(2):
          ack = await js.publish("clock.tick", b'{"number":4}', headers={"Nats-Msg-Id": "x"})
          say(f"{ack.seq} {int(bool(ack.duplicate))}")
      async def main():
        nc = await nats.connect(sys.argv[1])
        await globals()[sys.argv[2]](nc)
        await nc.drain()
      asyncio.run(main())
      """
  }

  /// A program with libnats, the client in C, which Debian's package libnats-dev has.
  private enum Libnats {
    static let isInstalled = FileManager.default.fileExists(atPath: "/usr/include/nats/nats.h")

    static func run(_ url: String, _ task: String) throws -> Peer {
      let folder = URL(filePath: "/tmp/libnats\(UInt32.random(in: 0 ... .max))")
      let (source, program) = (folder.appending(path: "peer.c"), folder.appending(path: "peer"))
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      // The peer runs on without its file.
      defer { try? FileManager.default.removeItem(at: folder) }
      try text.write(to: source, atomically: true, encoding: .utf8)
      let compiler = Process()
      compiler.executableURL = URL(filePath: "/usr/bin/env")
      compiler.arguments = ["cc", "-o", program.path, source.path, "-lnats"]
      // What it says about a fault goes to standard error; without a program, the start fails.
      _ = try compiler.start().readDataToEndOfFile()
      return try Peer(program.path, [url, task])
    }

    /// Does what its second argument says, at the server that the first one names.
    private static let text = #"""
      #include <nats/nats.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>

      static void check(natsStatus status) {
        if (status == NATS_OK) return;
        printf("%s\n", natsStatus_GetText(status));
        fflush(stdout);
        exit(1);
      }

      static void answer(natsConnection *c, natsSubscription *s, natsMsg *m, void *closure) {
        char text[100];
        snprintf(text, sizeof text, "peer:%.*s", natsMsg_GetDataLength(m), natsMsg_GetData(m));
        check(natsConnection_PublishString(c, natsMsg_GetReply(m), text));
        natsMsg_Destroy(m);
      }

      static void messages(natsConnection *c) {
        natsSubscription *s;
        natsMsg *m;
        const char *value;
        check(natsConnection_SubscribeSync(&s, c, "clock.tick"));
        check(natsConnection_PublishString(c, "clock.tick", "{\"number\":7}"));
        check(natsMsg_Create(&m, "clock.tick", NULL, "{\"number\":8}", 12));
        check(natsMsgHeader_Set(m, "Any", "thing"));
        check(natsConnection_PublishMsg(c, m));
        for (int i = 0; i < 3; i++) check(natsSubscription_NextMsg(&m, s, 30000));
        check(natsMsgHeader_Get(m, "Campanile", &value));
        printf("%.*s\n%s\n", natsMsg_GetDataLength(m), natsMsg_GetData(m), value);
      }

      static void requests(natsConnection *c) {
        natsSubscription *s;
        natsMsg *m;
        const char *value;
        check(natsConnection_Subscribe(&s, c, "peer", answer, NULL));
        check(natsConnection_RequestString(&m, c, "double", "ab", 3000000));
        printf("%.*s\n", natsMsg_GetDataLength(m), natsMsg_GetData(m));
        check(natsConnection_RequestString(&m, c, "double", "", 3000000));
        check(natsMsgHeader_Get(m, "Nats-Service-Error", &value));
        printf("%s\n", value);
        fflush(stdout);
        getchar();
      }

      static void stream(natsConnection *c) {
        jsCtx *js;
        natsSubscription *s;
        natsMsgList list;
        check(natsConnection_JetStream(&js, c, NULL));
        check(js_PullSubscribe(&s, js, "clock.tick", "c", NULL, NULL, NULL));
        check(natsSubscription_Fetch(&list, s, 3, 3000000, NULL));
        for (int i = 0; i < list.Count; i++) {
          natsMsg *m = list.Msgs[i];
          printf("%.*s\n", natsMsg_GetDataLength(m), natsMsg_GetData(m));
          check(natsMsg_AckSync(m, NULL, NULL));
        }
        jsPubOptions options;
        jsPubOptions_Init(&options);
        options.MsgId = "x";
        for (int i = 0; i < 2; i++) {
          jsPubAck *ack;
          check(js_Publish(&ack, js, "clock.tick", "{\"number\":4}", 12, &options, NULL));
          printf("%d %d\n", (int)ack->Sequence, ack->Duplicate);
        }
      }

      int main(int count, char **arguments) {
        natsConnection *c;
        check(natsConnection_ConnectTo(&c, arguments[1]));
        if (!strcmp(arguments[2], "messages")) messages(c);
        if (!strcmp(arguments[2], "requests")) requests(c);
        if (!strcmp(arguments[2], "stream")) stream(c);
        fflush(stdout);
        natsConnection_Destroy(c);
        return 0;
      }
      """#
  }

  /// A client of NATS that others have made.
  enum ForeignPeer: CaseIterable, Sendable {
    case python, libnats

    static let installed = allCases.filter { peer in
      switch peer {
      case .python: Python.program != nil
      case .libnats: Libnats.isInstalled
      }
    }

    func run(_ url: String, _ task: String) throws -> Peer {
      switch self {
      case .python: try Python.run(url, task)
      case .libnats: try Libnats.run(url, task)
      }
    }
  }

  @Suite(
    "Messages to and from the clients of NATS for Python and C", .withServers,
    .timeLimit(.minutes(5)),
    .enabled(
      if: !ForeignPeer.installed.isEmpty,
      "CAMPANILE_NATS_PYTHON names no Python with nats-py, and libnats-dev is missing"))
  struct ForeignPeerTests {
    @Test(
      "What a peer publishes is heard, and what is posted, it hears",
      arguments: NATSServer.programs, ForeignPeer.installed)
    func messages(program: String, client: ForeignPeer) async throws {
      let server = try NATSServer(program)
      let one = Member(.nats(server.url, .pedantic))
      try await one.relay.flush()
      let peer = try client.run(server.url, "messages")
      #expect(try await one.ticks.next(2) == [7, 8])
      one.post([9])
      #expect(try await peer.hear() == #"{"number":9}"#)
      // The header's fields begin with the sender and the number.
      let fields = try await peer.hear().split(separator: " ")
      #expect(fields.count == 6)
      #expect(fields[1] == "1")
      withExtendedLifetime((one, peer)) {}
    }

    @Test(
      "Requests are answered both ways, and failures are those of services",
      arguments: NATSServer.programs, ForeignPeer.installed)
    func requests(program: String, client: ForeignPeer) async throws {
      let server = try NATSServer(program)
      let one = Member(.nats(server.url, .pedantic))
      let token = one.answerDouble()
      try await one.relay.flush()
      let peer = try client.run(server.url, "requests")
      #expect(try await peer.hear() == "abab")
      #expect(try await peer.hear() == "nothing to double")
      let answer = try await one.relay.request(raw: Array("x".utf8), to: "peer", within: patience)
      #expect(String(decoding: answer, as: UTF8.self) == "peer:x")
      if client == .python {
        let error = await #expect(throws: RelayError.self) {
          try await one.relay.request(raw: [], to: "fail", within: patience)
        }
        #expect(error?.code == .failed)
        #expect(error?.message == "no time")
      }
      try peer.say("")
      withExtendedLifetime((one, token, peer)) {}
    }

    @Test(
      "A stream that a peer fills is heard, and what is stored, it reads",
      arguments: NATSServer.programs, ForeignPeer.installed)
    func stream(program: String, client: ForeignPeer) async throws {
      let server = try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
      let one = Member(.nats(server.url, .durable("S", creating: ["clock.>"]), .pedantic))
      try await one.relay.flush()
      one.post(1...3)
      try await one.relay.flush()
      let peer = try client.run(server.url, "stream")
      for number in 1...3 { #expect(try await peer.hear() == "{\"number\":\(number)}") }
      for duplicate in 0...1 { #expect(try await peer.hear() == "4 \(duplicate)") }
      #expect(try await one.ticks.next(4) == [1, 2, 3, 4])
      try one.ticks.expectNothingMore()
      withExtendedLifetime((one, peer)) {}
    }
  }
#endif
