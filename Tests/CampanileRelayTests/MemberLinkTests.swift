import Campanile
import CampanileTesting
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

/// Records what a link receives.
private final class Receiver: RelayReceiver {
  let incidents = Recorder<RelayIncident>(timeout: lostAfter)

  func receive(_ incidents: [RelayIncident]) {
    for incident in incidents { self.incidents.record(incident) }
  }

  private let works: Bool

  init(works: Bool = false) { self.works = works }

  func hasGoneOn() -> Bool { works }

  /// Waits for an incident, and returns what came before it.
  func incidents(upTo isLast: (RelayIncident) -> Bool) async throws -> [RelayIncident] {
    var earlier: [RelayIncident] = []
    while true {
      let incident = try await incidents.next()
      if isLast(incident) { return earlier }
      earlier.append(incident)
    }
  }
}

extension RelayIncident {
  fileprivate var isConnected: Bool { if case .connected = self { true } else { false } }
  fileprivate var isLost: Bool { if case .lost = self { true } else { false } }
  fileprivate var isFlushed: Bool { if case .flushed = self { true } else { false } }
  fileprivate var isMessage: Bool { if case .message = self { true } else { false } }
  fileprivate var isDisconnected: Bool {
    if case .disconnected = self { true } else { false }
  }
}

/// The hub of a folder's first generation, which says what a test wants.
private final class RawHub: Sendable {
  private let claim: FileLock?
  private let socket: UnixSocket

  init(in folder: BusFolder, generation: UInt64 = 1) throws {
    claim = try folder.claim(generation)
    socket = try folder.listen(generation)
  }

  /// A connection to a member.
  final class Connection: Sendable {
    private let socket: UnixSocket
    private let parser = Locked(FrameParser<MemberFrame>())

    init(_ socket: consuming UnixSocket) { self.socket = socket }

    func say(_ frames: [HubFrame]) {
      let bytes = Samples.bytes(of: frames)
      #expect(socket.write(bytes[...]) == .bytes(bytes.count))
    }

    /// Waits for a frame that a test looks for.
    func hear(_ isWanted: (MemberFrame) -> Bool) async throws {
      let attempts = Attempts()
      while true {
        while let frame = try parser.withLock({ try $0.next() }) {
          if isWanted(frame) { return }
        }
        let (_, bytes) = socket.read(atMost: 1 << 16)
        parser.withLock { $0.append(bytes[...]) }
        if bytes.isEmpty { try await attempts.next("frame") }
      }
    }

    /// Ends the connection for both ends.
    func close() { socket.shutDown() }
  }

  /// Waits for a member, and sends it frames.
  func accept(saying frames: HubFrame...) async throws -> Connection {
    let attempts = Attempts()
    while true {
      if let socket = try socket.accepted() {
        let connection = Connection(socket)
        connection.say(frames)
        return connection
      }
      try await attempts.next("member")
    }
  }
}

@Suite("The link of a member", .ownThread, .timeLimit(.long))
struct MemberLinkTests {
  /// A link that waits a minute for a silent hub.
  private func makeLink(_ folder: BusFolder) -> MemberLink {
    MemberLink(.folder(folder), name: "one", .newest(), silence: .patient)
  }

  @Test("Numbers that no hub says are survived, and the hub is succeeded when it has died")
  func strangeNumbers() async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      let (link, receiver) = (makeLink(folder), Receiver())
      defer { link.stop() }
      var hub: RawHub? = try RawHub(in: folder)
      let loss = Loss(
        sender: 5, subject: "a", count: .max, number: .max, position: at(.max, .max))
      link.start(receiver)
      let connection = try await hub?.accept(
        saying: .welcome(generation: .max, busID: .max),
        .open(
          position: at(1, 0), ownNumber: .max,
          Recovery(generation: .max, since: .none, last: at(.max, .max))),
        .lost([loss]), .sequenced(sender: 5, first: .max, count: .max, position: at(1, .max)))
      _ = try await receiver.incidents { $0.isConnected }
      let lost = try await receiver.incidents.next()
      guard case .lost(5, "a", nil, _) = lost else {
        Issue.record("No loss: \(lost)")
        return
      }
      hub = nil
      connection?.close()
      _ = try await receiver.incidents { $0.isConnected }
      #expect(try folder.highestGeneration() == 2)
      withExtendedLifetime(hub) {}
    }
  }

  @Test(
    "R1 A process that takes no messages because it has many follows the others to the next hub")
  func followsWithoutReading() async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      let (link, receiver) = (makeLink(folder), Receiver())
      defer { link.stop() }
      let hub = try RawHub(in: folder)
      link.queue.sync { link.setReading(false) }
      link.start(receiver)
      let connection = try await hub.accept(
        saying: .welcome(generation: 1, busID: 7), .opened(at(1, 0), 0))
      _ = try await receiver.incidents { $0.isConnected }
      // The connection stays open, and the old hub is never silent for a member that does not read.
      let next = try RawHub(in: folder, generation: 2)
      _ = try await next.accept(saying: .welcome(generation: 2, busID: 7))
      withExtendedLifetime((hub, connection, next)) {}
    }
  }

  @Test("R1 A process that takes no messages, but gets on with those it has, says that to its hub")
  func getsOn() async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      let link = makeLink(folder)
      defer { link.stop() }
      let hub = try RawHub(in: folder)
      link.queue.sync { link.setReading(false) }
      link.start(Receiver(works: true))
      let connection = try await hub.accept(
        saying: .welcome(generation: 1, busID: 7), .opened(at(1, 0), 0))
      // The first one acknowledges that it is open.
      for _ in 1...3 { try await connection.hear { $0 == .pong(at(1, 0)) } }
      withExtendedLifetime(hub) {}
    }
  }

  @Test(
    "R4 A process that takes no messages because it has many hears what arrived before it leaves",
    arguments: [true, false])
  func hearsWhatArrived(isFollowed: Bool) async throws {
    try await withFolder { path in
      try await expectHearing(isFollowed: isFollowed, in: BusFolder(bus: "test", in: path.path))
    }
  }

  /// Lets another hub follow, or ends the connection.
  private func end(
    _ connection: RawHub.Connection, isFollowed: Bool, in folder: BusFolder
  ) throws -> RawHub? {
    if isFollowed { return try RawHub(in: folder, generation: 2) }
    connection.close()
    return nil
  }

  /// - Parameter isFollowed: Whether another hub follows, or the hub dies.
  private func expectHearing(isFollowed: Bool, in folder: BusFolder) async throws {
    try folder.prepare()
    // By what it writes, it notices that its hub has died.
    let (link, receiver) = (makeLink(folder), Receiver(works: true))
    defer { link.stop() }
    let hub = try RawHub(in: folder)
    link.queue.sync {
      link.perform([.subscribe("a")])
      link.setReading(false)
    }
    link.start(receiver)
    let connection = try await hub.accept(
      saying: .welcome(generation: 1, busID: 7), .opened(at(1, 0), 0))
    _ = try await receiver.incidents { $0.isConnected }
    // From now on it reads nothing.
    let message = Message(
      sender: 5, number: 1, position: at(1, 1), subject: "a", version: 0, path: [], payload: [])
    connection.say([.message(message)])
    let next = try end(connection, isFollowed: isFollowed, in: folder)
    let earlier = try await receiver.incidents { $0.isDisconnected }
    #expect(earlier.contains { $0.isMessage })
    withExtendedLifetime((hub, connection, next)) {}
  }

  /// A link that hosts a hub and takes no messages, and another one, which posts a message to it.
  private func postToWhoTakesNothing(
    on bus: LoopbackBus
  ) async throws -> (link: MemberLink, Receiver, other: MemberLink, Receiver) {
    let (link, receiver) = (MemberLink(.memory(bus), name: "one", .newest()), Receiver())
    link.queue.sync {
      link.perform([.subscribe("a")])
      link.setReading(false)
    }
    link.start(receiver)
    _ = try await receiver.incidents { $0.isConnected }
    let (other, otherReceiver) = (MemberLink(.memory(bus), name: "other", .newest()), Receiver())
    var posts = RelayPosts()
    posts.append(RelayPosts.Heading(subject: "a", version: 0), [1])
    other.queue.sync { [posts] in other.perform([.posts(posts), .flush(1)]) }
    other.start(otherReceiver)
    return (link, receiver, other, otherReceiver)
  }

  @Test(
    "R4 A process that takes no messages hears what its own hub had passed to it when that ends")
  func hearsWhatItsHubPassed() async throws {
    let bus = LoopbackBus.named("\(UInt64.random(in: 0 ... .max))")
    let (link, receiver, other, otherReceiver) = try await postToWhoTakesNothing(on: bus)
    _ = try await otherReceiver.incidents { $0.isFlushed }
    let hub = bus.hub(for: 1, SilenceLimits())
    hub.queue.async { hub.close() }
    // It notices the end when it writes.
    let attempts = Attempts()
    for token: UInt64 in 2... {
      link.queue.sync { link.perform([.flush(token)]) }
      if receiver.incidents.values.contains(where: { $0.isDisconnected }) { break }
      try await attempts.next("end")
    }
    let earlier = try await receiver.incidents { $0.isDisconnected }
    #expect(earlier.contains { $0.isMessage })
    for link in [link, other] { link.stop() }
  }

  @Test("The time that a request waits is clamped, and rounded up")
  func milliseconds() {
    #expect(Duration.seconds(Int64.max).milliseconds == .max)
    #expect(Duration.seconds(5_000_000).milliseconds == .max)
    #expect(Duration.seconds(Int64.min).milliseconds == 1)
    #expect(Duration.microseconds(1_500_100).milliseconds == 1_501)
  }

  @Test("R1 A process that takes no messages joins all the same, and takes them later")
  func joinsWithoutReading() async throws {
    let bus = LoopbackBus.named("\(UInt64.random(in: 0 ... .max))")
    let (link, receiver, other, otherReceiver) = try await postToWhoTakesNothing(on: bus)
    // In the end, the first one counts as stopped.
    _ = try await otherReceiver.incidents { $0.isFlushed }
    #expect(!receiver.incidents.values.contains { $0.isMessage })
    link.queue.sync { link.setReading(true) }
    _ = try await receiver.incidents { $0.isMessage }
    for link in [link, other] { link.stop() }
  }
}
