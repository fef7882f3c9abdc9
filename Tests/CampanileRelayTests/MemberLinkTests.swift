import Campanile
import CampanileTesting
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

/// Records what a link receives.
private final class Receiver: RelayReceiver {
  let incidents = Recorder<RelayIncident>(timeout: .seconds(600))

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
    socket = try UnixSocket.listening(at: folder.socketPath(generation))
  }

  /// A connection to a member.
  final class Connection: Sendable {
    private let socket: UnixSocket

    init(_ socket: consuming UnixSocket) { self.socket = socket }

    /// - Returns: Whether the frames have been sent.
    func say(_ frames: [HubFrame]) -> Bool {
      let bytes = Samples.bytes(of: frames)
      return socket.write(bytes[...]) == .bytes(bytes.count)
    }

    /// Ends the connection for both ends.
    func close() { socket.shutDown() }
  }

  /// Sends frames on the first connection, from a thread of its own.
  ///
  /// - Returns: What to call to wait for the connection, which is `nil` if it has been closed.
  func say(_ frames: HubFrame...) -> () -> Connection? {
    let connection = Locked<Connection?>(nil)
    let hasSaid = onThread { [self] in
      while true {
        guard let socket = try? socket.accepted() else {
          sched_yield()
          continue
        }
        let made = Connection(socket)
        if made.say(frames) { connection.withLock { $0 = made } }
        return
      }
    }
    return {
      hasSaid()
      return connection.withLock { $0 }
    }
  }
}

@Suite("The link of a member", .timeLimit(.long))
struct MemberLinkTests {
  // Broken by: MemberLink.incident, if it traps at a number that is no Int.
  @Test("Numbers that no hub says are survived, and the hub is succeeded when it is silent")
  func strangeNumbers() async throws {
    // A hub that the system leaves no time for half a second says nothing in time.
    try await someAttempts(orElse: "The hub has never had time") {
      try await survivesStrangeNumbers()
    }
  }

  /// - Returns: Whether the hub could say all.
  private func survivesStrangeNumbers() async throws -> Bool {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      let (link, receiver) = (MemberLink(.folder(folder), name: "one", .newest()), Receiver())
      defer { link.stop() }
      let hub = try RawHub(in: folder)
      let loss = Loss(
        sender: 5, subject: "a", count: .max, number: .max, position: at(.max, .max))
      let connection = hub.say(
        .welcome(generation: .max, busID: .max),
        .open(
          position: at(1, 0), ownNumber: .max,
          Recovery(generation: .max, since: .none, last: at(.max, .max))),
        .lost([loss]), .sequenced(sender: 5, first: .max, count: .max, position: at(1, .max)))
      link.start(receiver)
      guard let connection = connection() else { return false }
      _ = try await receiver.incidents { $0.isConnected }
      // Of a hub of its own, which it makes when the other one is silent, it hears no loss.
      let isSucceeded = try folder.highestGeneration() != 1
      if isSucceeded && !receiver.incidents.values.contains(where: \.isLost) { return false }
      let lost = try await receiver.incidents.next()
      guard case .lost(5, "a", .some(.max), _) = lost else {
        Issue.record("No loss: \(lost)")
        return true
      }
      // It says nothing more.
      _ = try await receiver.incidents { $0.isConnected }
      #expect(try folder.highestGeneration() >= 2)
      withExtendedLifetime((hub, connection)) {}
      return true
    }
  }

  // Broken by: MemberLink.tick, if it asks for the next generation only when the hub is silent.
  @Test(
    "R1 A process that takes no messages because it has many follows the others to the next hub")
  func followsWithoutReading() async throws {
    try await someAttempts(orElse: "The hub has never had time") { try await isFollowing() }
  }

  /// - Returns: Whether the first hub could say all.
  private func isFollowing() async throws -> Bool {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      let (link, receiver) = (
        MemberLink(.folder(folder), name: "one", .newest()), Receiver(works: true)
      )
      defer { link.stop() }
      let hub = try RawHub(in: folder)
      let opened = HubFrame.open(
        position: at(1, 0), ownNumber: 0, Recovery(generation: 1, since: .none, last: at(1, 0)))
      let connection = hub.say(.welcome(generation: 1, busID: 7), opened)
      link.queue.sync { link.setReading(false) }
      link.start(receiver)
      guard let connection = connection() else { return false }
      _ = try await receiver.incidents { $0.isConnected }
      // The connection stays open, and the old hub is never silent for a member that does not read.
      let next = try RawHub(in: folder, generation: 2)
      let second = next.say(.welcome(generation: 2, busID: 7))
      guard second() != nil else { return false }
      withExtendedLifetime((hub, connection, next)) {}
      return true
    }
  }

  // Broken by: MemberLink.disconnect, if it closes the connection with what has arrived.
  @Test(
    "R4 A process that takes no messages because it has many hears what arrived before it leaves",
    arguments: [true, false])
  func hearsWhatArrived(isFollowed: Bool) async throws {
    try await someAttempts(orElse: "The hub has never had time") {
      try await withFolder { path in
        try await isHearing(isFollowed: isFollowed, in: BusFolder(bus: "test", in: path.path))
      }
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
  /// - Returns: Whether the first hub could say all.
  private func isHearing(isFollowed: Bool, in folder: BusFolder) async throws -> Bool {
    try folder.prepare()
    let (link, receiver) = (
      MemberLink(.folder(folder), name: "one", .newest()), Receiver(works: true)
    )
    defer { link.stop() }
    let hub = try RawHub(in: folder)
    let opened = HubFrame.open(
      position: at(1, 0), ownNumber: 0, Recovery(generation: 1, since: .none, last: at(1, 0)))
    let connecting = hub.say(.welcome(generation: 1, busID: 7), opened)
    link.queue.sync {
      link.perform([.subscribe("a")])
      link.setReading(false)
    }
    link.start(receiver)
    guard let connection = connecting() else { return false }
    _ = try await receiver.incidents { $0.isConnected }
    // From now on it reads nothing.
    let message = Message(
      sender: 5, number: 1, position: at(1, 1), subject: "a", version: 0, path: [], payload: [])
    let generation = try folder.highestGeneration()
    if generation != 1 || !connection.say([.message(message)]) { return false }
    let next = try end(connection, isFollowed: isFollowed, in: folder)
    let earlier = try await receiver.incidents { $0.isDisconnected }
    #expect(earlier.contains { $0.isMessage })
    withExtendedLifetime((hub, connection, next)) {}
    return true
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
    let hub = bus.hub(for: 1)
    hub.queue.async { hub.close() }
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
