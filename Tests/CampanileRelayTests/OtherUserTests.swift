import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

/// Processes of a user whose bus it is not.
@Suite(
  "Processes of another user", .serialized, .ownThread, .timeLimit(.long),
  .enabled(
    "Only root can start a process of another user, with setpriv, and needs a toolchain that all can read"
  ) { try await OtherUser.isPossible }
)
struct OtherUserTests {
  @Test("A relay in another user's folder says whose it is, and does not join")
  func folder() async throws {
    try await OtherUser.withProgram { program in
      try await withFolder { folder in
        let members = try [MemberProcess].start(2, in: folder)
        let command = [program.path] + MemberProcess.command(folder, "other").dropFirst()
        let other = try MemberProcess(OtherUser.command(command), "other")
        #expect(
          try other.ask("trouble")
            == "trouble The folder \(folder.path) belongs to the user 0, not to \(OtherUser.user).")
        for member in members {
          #expect(try member.ask("peers").hasSuffix(member === members[0] ? " m1" : " m0"))
        }
      }
    }
  }

  @Test("At a folder that has been opened to all, another user's process is sent away and counted")
  func socket() async throws {
    try await withFolder { folder in
      let members = try [MemberProcess].start(2, in: folder)
      let socket = folder.appending(path: "test/hub.1.sock")
      #expect(try OtherUser.connect(to: socket) == "Permission denied")
      try OtherUser.open(folder, 0o755)
      try OtherUser.open(folder.appending(path: "test"), 0o755)
      #expect(try OtherUser.connect(to: socket) == "Permission denied")
      try OtherUser.open(socket, 0o666)
      for _ in 0..<3 { #expect(try OtherUser.connect(to: socket) == "connected, closed") }
      try members[0].ask("post 10")
      _ = try members.rest()
      #expect(
        try members[0].events().filter { $0.contains(" refused ") } == [
          "3 refused - - - A process of the user \(OtherUser.user) was sent away; the bus is of the user 0."
        ])
      #expect(try members[1].events().allSatisfy { !$0.contains(" refused ") })
      #expect(try members[1].report().heard == ["m0": .all(10)])
    }
  }

  @Test("A member says nothing to a hub of another user, and tells whose socket it found")
  func falseHub() async throws {
    try await withFolder { folder in
      let bus = BusFolder(bus: "test", in: folder.path)
      try bus.prepare()
      let claim = try bus.claim(1)
      let hub = try OtherUser.listen(at: bus.socketPath(1))
      #expect(
        try await FolderTests().trouble(folder.path)
          == "The socket in the folder \(bus.path) belongs to the user \(OtherUser.user), not to 0."
      )
      #expect(try hub.hear() == "closed")
      withExtendedLifetime(claim) {}
    }
  }
}

/// Nobody, and what it can be made to do.
private enum OtherUser {
  static let user = 65_534

  static func command(_ command: [String]) -> [String] {
    ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + command
  }

  /// Whether the program runs as another user: without arguments it says how it is used.
  static var isPossible: Bool {
    get async throws {
      let tools = ["/usr/bin/setpriv", "/usr/bin/perl"]
      guard geteuid() == 0, tools.allSatisfy(FileManager.default.isExecutableFile) else {
        return false
      }
      return try await withProgram { program in
        let said = try? MemberProcess(command([program.path]), "other").hear()
        return said?.hasPrefix("usage: member") == true
      }
    }
  }

  /// Calls `body` with a copy of the program that others can reach.
  static func withProgram<Result>(
    _ body: (URL) async throws -> Result
  ) async throws -> Result {
    try await withFolder { folder in
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      try open(folder, 0o755)
      let copy = folder.appending(path: "member")
      // Copied by another process: a process that a test starts meanwhile would have a copy of this
      // one's file descriptor, and what is open for writing cannot be run.
      let copying = Process()
      let end = ProgramEnd(of: copying)
      copying.executableURL = URL(filePath: "/bin/cp")
      copying.arguments = [MemberProcess.program.path, copy.path]
      try startingAlone { [copying] in try copying.run() }
      end.wait()
      try open(copy, 0o755)
      return try await body(copy)
    }
  }

  /// What becomes of a connection of the other user's.
  static func connect(to socket: URL) throws -> String {
    let script = """
      $said = socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ARGV[0]))
        ? "connected, " . (sysread(S, $byte, 1) ? "heard" : "closed") : $!;
      print "$said\\n";
      """
    let command = ["/usr/bin/perl", "-MSocket", "-e", script, socket.path]
    return try MemberProcess(self.command(command), "perl").hear()
  }

  /// A process of the other user's that listens in a folder of root's, as if it had replaced the folder.
  ///
  /// For each connection it says whether it hears something. The system keeps the user who listens.
  static func listen(at socket: String) throws -> MemberProcess {
    let script = """
      $| = 1;
      socket(L, AF_UNIX, SOCK_STREAM, 0) && bind(L, sockaddr_un($ARGV[0])) || die $!;
      $) = "\(user) \(user)"; $> = \(user); $> == \(user) || die $!;
      listen(L, 5) || die $!;
      print "listening\\n";
      while (accept(C, L)) { print sysread(C, $byte, 1) ? "heard\\n" : "closed\\n"; close(C) }
      """
    let process = try MemberProcess(["/usr/bin/perl", "-MSocket", "-e", script, socket], "perl")
    #expect(try process.hear() == "listening")
    return process
  }

  static func open(_ path: URL, _ mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path.path)
  }
}
