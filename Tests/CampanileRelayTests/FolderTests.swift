import Campanile
import CampanileTesting
import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

/// A hub that closes each connection, and counts them.
private final class ClosingHub: Sendable {
  private struct State {
    let accepts: any DispatchSourceProtocol
    var claim: FileLock?
    var count = 0
  }

  private let socket: UnixSocket
  private let state: Locked<State>

  init(in folder: BusFolder) throws {
    let claim = try folder.claim(1)
    socket = try folder.listen(1)
    state = Locked(
      State(
        accepts: socket.makeSource(of: .readable, on: DispatchQueue(label: "closing hub")),
        claim: claim))
    state.withLock { state in
      state.accepts.setEventHandler { self.closeAll() }
      state.accepts.setCancelHandler { withExtendedLifetime(self) {} }
      state.accepts.activate()
    }
  }

  private func closeAll() {
    // Each is counted while it is open: once it is closed, a test may ask for the count.
    while let connection = try? socket.accepted() {
      withExtendedLifetime(connection) { state.withLock { $0.count += 1 } }
    }
  }

  /// Leaves the bus to others.
  ///
  /// - Returns: How many connections it has closed.
  func end() -> Int {
    state.withLock { state in
      state.accepts.cancel()
      state.claim = nil
      return state.count
    }
  }
}

/// Where a bus cannot be had, a relay says why, and goes on trying.
@Suite("Folders of a bus", .ownThread, .timeLimit(.long))
struct FolderTests {
  /// The sentence of a relay whose bus is in a folder.
  func trouble(_ path: String, bus: String = "test") async throws -> String {
    let relay = Relay(.host(bus, in: path))
    let states = Recorder<RelayState>(timeout: lostAfter)
    let token = relay.state.observe(options: .initial) { states.record($0) }
    defer { withExtendedLifetime((relay, token)) {} }
    while true {
      if case .unavailable(let reason) = try await states.next() { return reason }
    }
  }

  private func make(_ folder: URL, mode: Int = 0o700) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path)
  }

  @Test(
    "A folder in one that others can write to is refused, unless that one has the sticky bit",
    arguments: [0o777, 0o770, 0o720])
  func replaceable(mode: Int) async throws {
    try await withFolder { folder in
      try make(folder.appending(path: "own"))
      try make(folder, mode: mode)
      // Not only the folder just outside: another one further out can be replaced, too.
      for inner in ["own", "own/inner/own"] {
        #expect(
          try await trouble(folder.appending(path: inner).path)
            == "Others can replace what is in the folder \(folder.path), whose mode is "
            + "\(String(mode, radix: 8)): take away their right to write, or set the sticky bit.")
      }
      #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "own/test").path))
      try make(folder, mode: 0o1000 | mode)
      try BusFolder(bus: "test", in: folder.appending(path: "own").path).prepare()
    }
  }

  @Test("A generation whose files were taken away is not claimed")
  func earlierGeneration() async throws {
    try await withFolder { folder in
      let bus = BusFolder(bus: "b", in: folder.path)
      try bus.prepare()
      let later = try bus.claim(5)
      #expect(later != nil)
      #expect(try bus.claim(3) == nil)
      withExtendedLifetime(later) {}
    }
  }

  @Test(
    "The runtime folder of another user is not used, and the state of a relay says so",
    .enabled("Only root can give it away") {
      geteuid() == 0
    })
  func foreignRuntimeFolder() async throws {
    try await withFolder { folder in
      try make(folder)
      func standard() -> (folder: String, refusal: String?) {
        BusFolder.standard(runtime: folder.path, temporary: "/t/")
      }
      #expect(standard().folder == folder.path + "/campanile")
      #expect(standard().refusal == nil)
      try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: folder.path)
      #expect(standard().folder == "/t/campanile-0")
      let member = try MemberProcess(
        [
          "/usr/bin/env", "XDG_RUNTIME_DIR=" + folder.path, MemberProcess.program.path, "", "b",
          "m",
        ],
        "m")
      let said = try member.ask("trouble")
      #expect(
        said
          == "trouble XDG_RUNTIME_DIR is \(folder.path), a folder of the user 65534, and this process "
          + "runs as the user 0: unset the variable, as sudo does without -E, or name a folder for the "
          + "bus.")
      #expect(standard().refusal == String(said.dropFirst(8)))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }
  }

  @Test("A folder that others can reach into is refused, and so is one in its place")
  func wrongMode() async throws {
    try await withFolder { folder in
      try make(folder, mode: 0o750)
      #expect(
        try await trouble(folder.path)
          == "Others can reach into the folder \(folder.path), whose mode is 750 and must be 700.")
      // Nothing is made in such a folder.
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
      try make(folder.appending(path: "test"), mode: 0o701)
      let inner = try await trouble(folder.path)
      #expect(inner.contains("whose mode is 701"))
    }
  }

  @Test("A link or a file in place of the folder is refused")
  func links() async throws {
    try await withFolder { folder in
      try make(folder)
      let (real, link) = (folder.appending(path: "real"), folder.appending(path: "test"))
      try make(real)
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: real)
      #expect(
        try await trouble(folder.path) == "\(link.path) is a link, and must be a folder of yours.")
      try FileManager.default.removeItem(at: link)
      try Data().write(to: link)
      #expect(
        try await trouble(folder.path) == "\(link.path) is no folder, and must be one of yours.")
    }
  }

  @Test("A slash at the end of a folder's path changes nothing, and no link is followed")
  func slashes() async throws {
    #expect(BusFolder(bus: "test", in: "/b").path == "/b/test")
    #expect(BusFolder(bus: "test", in: "/b//").path == "/b/test")
    #expect(BusFolder(bus: "test", in: "/b/").step == BusFolder(bus: "test", in: "/b").step)
    #expect(BusFolder(bus: "test", in: "/").path == "//test")
    try await withFolder { folder in
      try make(folder)
      let (real, link) = (folder.appending(path: "real"), folder.appending(path: "link"))
      try make(real)
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: real)
      #expect(
        try await trouble(link.path + "/")
          == "\(link.path) is a link, and must be a folder of yours.")
      #expect(try FileManager.default.contentsOfDirectory(atPath: real.path) == [])
    }
  }

  @Test("R3 A folder with several paths is one folder, and nothing that comes from its bus returns")
  func paths() async throws {
    try await withFolder { folder in
      try make(folder)
      try make(folder.appending(path: "real"))
      try FileManager.default.createSymbolicLink(
        at: folder.appending(path: "link"), withDestinationURL: folder.appending(path: "real"))
      let paths = ["real/bus", "link/bus", "./real/bus"].map { folder.path + "/" + $0 }
      // Before it exists, and while it does.
      func steps() -> Set<UInt64> { Set(paths.map { BusFolder(bus: "test", in: $0).step }) }
      #expect(steps().count == 1)
      let center = MessageCenter()
      let relays = paths.map { Relay(.test(in: $0)) }
      let heard = Recorder<Int>(timeout: lostAfter)
      for relay in relays { relay.carry(Tick.self, in: center) }
      // Called after those who carry.
      let token = center.observe(Tick.self) { heard.record($0.number) }
      let others = [Member(.test(in: paths[0])), Member(.test(in: paths[0]))]
      for relay in relays + others.map(\.relay) { try await relay.flush() }
      #expect(steps().count == 1)
      others[0].post([1])
      #expect(try await heard.next(3) == [1, 1, 1])
      // What the relays would send is on its way.
      for relay in relays { try await relay.flush() }
      others[1].relay.link.queue.sync {}
      await others[1].relay.core.finishDeliveries()
      #expect(others[1].ticks.values == [1])
      withExtendedLifetime((relays, token, others)) {}
    }
  }

  @Test("A relative path is of the folder in which the process is")
  func relativePath() {
    let current = FileManager.default.currentDirectoryPath
    let name = "c\(UInt32.random(in: 0 ... .max))"
    #expect(
      BusFolder(bus: "test", in: name).step
        == BusFolder(bus: "test", in: current + "/" + name).step)
    #expect(BusFolder.resolved("/" + name) == "/" + name)
  }

  @Test("A member that joins while others look for the dead is not taken for dead")
  func announcing() async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      let isOver = Locked(false)
      let hasLooked = onThread {
        while !isOver.withLock({ $0 }) { _ = try? folder.livingMembers() }
      }
      for number in 1...Effort.times(200, long: 2_000) {
        let lock = try folder.announce(UInt64(number))
        #expect(try folder.livingMembers().contains(UInt64(number)))
        withExtendedLifetime(lock) {}
        folder.remove(UInt64(number))
      }
      isOver.withLock { $0 = true }
      hasLooked()
    }
  }

  @Test("A hub that closes each connection is asked ever more rarely, and that is said")
  func closedAtOnce() async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      var hub: ClosingHub? = try ClosingHub(in: folder)
      let relay = Relay(.test(in: path.path))
      let states = Recorder<RelayState>(timeout: lostAfter)
      let token = relay.state.observe(options: .initial) { states.record($0) }
      defer { withExtendedLifetime((relay, token)) {} }
      #expect(try await states.next() == .connecting)
      let state = try await states.next()
      let count = hub?.end() ?? 0
      hub = nil
      #expect(
        state
          == .unavailable(
            "The process that is the hub closes each connection. It has no file descriptors left, or "
              + "it uses another version of this package."))
      #expect(count >= 8)
      #expect(try await states.next() == .connected)
    }
  }

  @Test("A folder that cannot be made is named")
  func missing() async throws {
    try await withFolder { folder in
      let path = folder.appending(path: "there/is/none").path
      let reason = try await trouble(path)
      #expect(
        reason == "The folder \(path) of the bus cannot be made: No such file or directory.")
    }
  }

  @Test(
    "A file that holds no number, as after a power failure, is made again", arguments: ["", "no"])
  func noNumber(text: String) async throws {
    try await withFolder { folder in
      let bus = BusFolder(bus: "test", in: folder.path)
      try bus.prepare()
      try Data(text.utf8).write(to: folder.appending(path: "test/bus.id"))
      let id = try bus.identify()
      #expect(try id != 0 && bus.identify() == id)
    }
  }

  @Test("What is in the place of the file with the number, and is no file, is named")
  func noFile() async throws {
    try await withFolder { folder in
      let file = folder.appending(path: "test/bus.id")
      try make(folder)
      try make(folder.appending(path: "test"))
      try make(file)
      #expect(try await trouble(folder.path) == "The file \(file.path) cannot be read.")
      let names = try FileManager.default.contentsOfDirectory(
        atPath: folder.appending(path: "test").path)
      #expect(!names.contains { $0.hasPrefix("hub.") })
    }
  }

  @Test("A disk that takes nothing more is named, and nothing is left of the file", .ownThread)
  func full() async throws {
    try await withFolder { folder in
      // A process that may write no bytes to files, and that a signal does not end for trying.
      let member = try MemberProcess(
        [
          "/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"",
        ] + MemberProcess.command(folder, "full"), "full")
      let reason = try member.ask("trouble")
      let file = folder.appending(path: "test/bus.id").path
      #expect(reason.hasPrefix("trouble The file \(file) "), "\(reason)")
      #expect(reason.hasSuffix(" cannot be written: File too large."), "\(reason)")
      member.kill()
      let names = try FileManager.default.contentsOfDirectory(
        atPath: folder.appending(path: "test").path)
      #expect(!names.contains { $0.hasPrefix("hub.") || $0.hasPrefix("bus.") })
    }
  }

  @Test("The path of a socket that is too long is named, with its length and the limit")
  func longPath() async throws {
    try await withFolder { folder in
      try make(folder)
      let path = folder.path + "/" + String(repeating: "f", count: 90)
      try make(URL(filePath: path))
      let socket = path + "/test/hub.zzzzzzz.sock"
      #expect(
        try await trouble(path)
          == "The path of the bus's socket has \(socket.utf8.count) bytes and may have "
          + "\(UnixSocket.pathLimit): \(socket)")
      // A long name of a bus is shortened.
      let bus = String(repeating: "n", count: 200)
      let relay = Relay(.host(bus, in: folder.path))
      try await relay.flush()
    }
  }

  @Test("A bus whose name leaves room for a socket leaves room for those of all later hubs")
  func roomForLaterHubs() throws {
    for length in 1...40 {
      // Room for "/", a name of twenty bytes, and "/hub.zzzzzzz.sock".
      let folder = "/" + String(repeating: "f", count: UnixSocket.pathLimit - 39)
      let bus = BusFolder(bus: String(repeating: "n", count: length), in: folder)
      #expect(bus.socketPath(78_364_164_095).utf8.count <= UnixSocket.pathLimit)
      #expect(bus.path.hasSuffix("/" + String(repeating: "n", count: length)) == (length <= 20))
    }
  }

  @Test("The file of a hub of a generation that nobody can have is ignored")
  func strangeGeneration() async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      try Data().write(to: URL(filePath: folder.lockPath(.max)))
      #expect(try folder.highestGeneration() == 0)
      let relay = Relay(.test(in: path.path))
      try await relay.flush()
      #expect(try folder.highestGeneration() == 1)
    }
  }

  @Test("A bus that can have no more hubs says so")
  func lastGeneration() async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      try Data().write(to: URL(filePath: folder.path + "/hub.zzzzzzz.lock"))
      #expect(
        try await trouble(path.path)
          == "The bus has had 78364164095 hubs, and can have no more. End the processes that use "
          + "it, and remove the folder \(folder.path).")
    }
  }

  @Test("A folder that is mended is used")
  func mended() async throws {
    try await withFolder { folder in
      try make(folder, mode: 0o755)
      let relay = Relay(.test(in: folder.path))
      let states = Recorder<RelayState>(timeout: lostAfter)
      let token = relay.state.observe(options: .initial) { states.record($0) }
      while case .connecting = try await states.next() {}
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
      try await relay.flush()
      while try await states.next() != .connected {}
      withExtendedLifetime((relay, token)) {}
    }
  }

  @Test("A hub that slept through two generations is told that there is a later one")
  func removedGenerations() async throws {
    try await withFolder { folder in
      let bus = BusFolder(bus: "test", in: folder.path)
      try bus.prepare()
      /// Waits until a hub is dead: a program that another test has just begun to start may have a copy
      /// of its lock.
      func isAbandoned(_ generation: UInt64) async throws {
        let attempts = Attempts()
        while !bus.isAbandoned(generation) { try await attempts.next("end of a hub") }
      }
      var sleeping = try bus.claim(1)
      #expect(sleeping != nil)
      // The later hubs die at once.
      for generation in 2...4 as ClosedRange<UInt64> {
        #expect(try bus.claim(generation) != nil)
        try await isAbandoned(generation)
        bus.removeGenerations(before: generation)
        #expect(bus.isClaimed(2))
      }
      #expect(!bus.isClaimed(3))
      sleeping = nil
      try await isAbandoned(1)
      bus.removeGenerations(before: 4)
      #expect((1...4 as ClosedRange<UInt64>).filter { bus.isClaimed($0) } == [4])
    }
  }

  @Test("The folder, the socket and the locks are the user's alone, whatever the umask says")
  func modes() async throws {
    try await withFolder { folder in
      let relay = Relay(.test(in: folder.path))
      try await relay.flush()
      func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(
          atPath: folder.appending(path: path).path)
        return try #require(attributes[.posixPermissions] as? Int)
      }
      let folders = try [mode("."), mode("test")]
      #expect(folders == [0o700, 0o700])
      let names = try FileManager.default.contentsOfDirectory(
        atPath: folder.appending(path: "test").path)
      #expect(names.contains { $0.hasSuffix(".sock") })
      for name in names {
        let mode = try mode("test/" + name)
        #expect(mode == 0o600, "\(name)")
      }
      withExtendedLifetime(relay) {}
    }
  }
}

extension FolderTests {
  @Test("The folder of a bus is locked while a relay uses it, so that no program removes old files")
  func locked() async throws {
    try await withFolder { folder in
      let relay = Relay(.test(in: folder.path))
      try await relay.flush()
      let descriptor = unsafe open(folder.appending(path: "test").path, O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      #expect(flock(descriptor, LOCK_EX | LOCK_NB) != 0)
      // Others share it.
      #expect(flock(descriptor, LOCK_SH | LOCK_NB) == 0)
      withExtendedLifetime(relay) {}
    }
  }

  @Test("The folder of a bus that another program has locked is locked the next time")
  func lockedLater() async throws {
    try await withFolder { folder in
      let (bus, path) = (BusFolder(bus: "test", in: folder.path), folder.appending(path: "test"))
      try make(folder)
      try make(path)
      let descriptor = unsafe open(path.path, O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      try bus.prepare()
      flock(descriptor, LOCK_UN)
      try bus.prepare()
      #expect(flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    }
  }

  @Test("The file of a member that was deleted alone is made again")
  func deletedMembers() async throws {
    try await withFolder { path in
      let relays = [Relay(.test(in: path.path)), Relay(.test(in: path.path))]
      for relay in relays { try await relay.flush() }
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      let members = try folder.livingMembers()
      #expect(members.count == 2)
      for member in members { folder.remove(member) }
      let attempts = Attempts()
      while try Set(folder.livingMembers()) != Set(members) { try await attempts.next("file") }
      #expect(try folder.highestGeneration() == 1)
      withExtendedLifetime(relays) {}
    }
  }

  #if os(Linux)
    @Test("A relay for which the system has no watch looks, and watches when there is room")
    func noWatches() async throws {
      try await withFolder { folder in
        // All that there are, unless other processes give some back meanwhile.
        var watches: [Int32] = []
        while watches.count < 1_024, case let watch = inotify_init1(Int32(IN_CLOEXEC)), watch >= 0 {
          watches.append(watch)
        }
        defer { for watch in watches { close(watch) } }
        let member = try MemberProcess(folder, "m")
        try member.ask("flush")
        for watch in watches { close(watch) }
        watches = []
        let files = URL(filePath: "/proc/\(member.processID)/fd")
        let attempts = Attempts()
        func isWatching() throws -> Bool {
          try FileManager.default.contentsOfDirectory(atPath: files.path).contains {
            let target = try? FileManager.default.destinationOfSymbolicLink(
              atPath: files.appending(path: $0).path)
            return target?.contains("inotify") == true
          }
        }
        while try !isWatching() { try await attempts.next("watch") }
      }
    }
  #endif
}

/// Somebody of the same user who does not speak as a member does.
@Suite("Strangers at a hub", .ownThread, .timeLimit(.long))
struct StrangerTests {
  @Test(
    "Garbage, half a frame and a giant length are cut off, and the others go on",
    arguments: [
      Array("GET / HTTP/1.1\r\n\r\n".utf8), [255, 255, 255, 255, 1], [0, 0, 0, 0],
      [5, 0, 0, 0, 99, 1, 2, 3, 4], [5, 0, 0, 0, 1, 0, 0, 0, 0],
    ])
  func garbage(bytes: [UInt8]) async throws {
    try await withFolder { folder in
      let bus = Relay.Transport.test(in: folder.path)
      let (one, two) = (Member(bus), Member(bus))
      let events = Recorder<RelayEvent>(timeout: lostAfter)
      // The hub is part of one of them.
      let tokens = [one, two].map { $0.relay.events.observe { events.record($0) } }
      for member in [one, two] { try await member.relay.flush() }
      let path = try BusFolder(bus: "test", in: folder.path).socketOfHub()
      let stranger = try connect(to: path)
      let written = stranger.write(bytes[...])
      #expect(written == .bytes(bytes.count))
      // The hub closes the connection.
      let attempts = Attempts()
      while stranger.read(atMost: 256).transfer != .end { try await attempts.next("end") }
      let event = try await events.next()
      #expect(event.kind == .refused && event.count == 0 && event.subject == nil)
      #expect(event.reason.hasPrefix("A process was sent away. "), "\(event)")
      one.post([1])
      #expect(try await two.ticks.next() == 1)
      withExtendedLifetime((one, two, tokens)) {}
    }
  }

  @Test("One who says nothing, and one who stops in the middle of a frame, disturb nobody")
  func silence() async throws {
    try await withFolder { folder in
      let bus = Relay.Transport.test(in: folder.path)
      let (one, two) = (Member(bus), Member(bus))
      for member in [one, two] { try await member.relay.flush() }
      let path = try BusFolder(bus: "test", in: folder.path).socketOfHub()
      let (silent, half) = (Connected(try connect(to: path)), Connected(try connect(to: path)))
      let written = half.socket.write([100, 0, 0, 0, 6, 1][...])
      #expect(written == .bytes(6))
      one.post(1...100)
      try await one.relay.flush()
      #expect(try await two.ticks.next(100) == Array(1...100))
      withExtendedLifetime((one, two, silent, half)) {}
    }
  }

  private final class Connected {
    let socket: UnixSocket
    init(_ socket: consuming UnixSocket) { self.socket = socket }
  }

  private func connect(to path: String) throws -> UnixSocket {
    guard let socket = try UnixSocket.connecting(to: path) else {
      throw SystemError(sentence: "Nobody listens at \(path).")
    }
    return socket
  }
}

extension BusFolder {
  fileprivate func socketOfHub() throws -> String { socketPath(try highestGeneration()) }
}
