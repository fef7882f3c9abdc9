#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import TestSupport
  import Testing

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
        snprintf(text, sizeof text, "c:%.*s", natsMsg_GetDataLength(m), natsMsg_GetData(m));
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
        check(natsConnection_Subscribe(&s, c, "c", answer, NULL));
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

  @Suite(
    "Messages to and from libnats", .withServers, .timeLimit(.minutes(5)),
    .enabled(if: Libnats.isInstalled, "libnats-dev is missing"))
  struct LibnatsTests {
    @Test(
      "What C publishes is heard, and what is posted, C hears", arguments: NATSServer.programs)
    func messages(program: String) async throws {
      let server = try NATSServer(program)
      let one = Member(.nats(server.url, .pedantic))
      try await one.relay.flush()
      let peer = try Libnats.run(server.url, "messages")
      #expect(try await one.ticks.next(2) == [7, 8])
      one.post([9])
      #expect(try await peer.hear() == #"{"number":9}"#)
      // The header's fields begin with the sender and the number.
      let fields = try await peer.hear().split(separator: " ")
      #expect(fields.count == 6)
      #expect(fields[1] == "1")
      withExtendedLifetime((one, peer)) {}
    }

    @Test("Requests are answered both ways by C", arguments: NATSServer.programs)
    func requests(program: String) async throws {
      let server = try NATSServer(program)
      let one = Member(.nats(server.url, .pedantic))
      let token = one.answerDouble()
      try await one.relay.flush()
      let peer = try Libnats.run(server.url, "requests")
      #expect(try await peer.hear() == "abab")
      #expect(try await peer.hear() == "nothing to double")
      let answer = try await one.relay.request(raw: Array("x".utf8), to: "c", within: patience)
      #expect(String(decoding: answer, as: UTF8.self) == "c:x")
      try peer.say("")
      withExtendedLifetime((one, token, peer)) {}
    }

    @Test(
      "A stream that C fills is heard, and what is stored, C reads", arguments: NATSServer.programs)
    func stream(program: String) async throws {
      let server = try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
      let one = Member(.nats(server.url, .durable("S", creating: ["clock.>"]), .pedantic))
      try await one.relay.flush()
      one.post(1...3)
      try await one.relay.flush()
      let peer = try Libnats.run(server.url, "stream")
      for number in 1...3 { #expect(try await peer.hear() == "{\"number\":\(number)}") }
      #expect(try await peer.hear() == "4 0")
      #expect(try await peer.hear() == "4 1")
      #expect(try await one.ticks.next(4) == [1, 2, 3, 4])
      try one.ticks.expectNothingMore()
      withExtendedLifetime((one, peer)) {}
    }
  }
#endif
