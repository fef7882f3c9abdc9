#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

import Campanile

/// The folder of a bus, which is one user's.
///
/// A hub of the generation 35 has `hub.z.lock`, which it made and keeps locked, and listens at
/// `hub.z.sock`. A member keeps `member.1f2e3d4c.lock` locked. The system takes the locks away when
/// a process dies.
final class BusFolder: Sendable {
  let path: String
  /// Why there is no bus, whatever is in the folder.
  private let refusal: String?
  /// The folder, once it has been opened and checked.
  private let opened = Locked<Directory?>(nil)

  /// - Parameters:
  ///   - bus: The name of the bus, of any characters.
  ///   - folder: The folder that contains the folders of all buses; by default the user's.
  init(bus: String, in folder: String?) {
    let name = SubjectName.escaped(bus)
    // With a slash at its end, a link would be followed, and one bus would have two names.
    let standard = Self.standard
    refusal = folder == nil ? standard.refusal : nil
    let folder = Self.withoutSlash(folder ?? standard.folder) + "/"
    let short = String(hash(name), radix: 36)
    // A long name would make the path of the socket too long.
    let fits = name.utf8.count <= 40 && UnixSocket.hasRoom(for: Self.lastSocket(in: folder + name))
    path = folder + (fits || name.utf8.count <= short.utf8.count ? name : short)
  }

  /// The highest generation: seven digits of base 36.
  ///
  /// There is one for each takeover, and for each process that finds no hub on the bus. The path of
  /// a socket is as long as the number of its generation.
  private static let lastGeneration: UInt64 = 78_364_164_095

  private static func lastSocket(in path: String) -> String {
    path + "/hub." + String(lastGeneration, radix: 36) + ".sock"
  }

  /// The place in the paths of messages that the bus is, the same for all of its members.
  ///
  /// It is of the folder that the path leads to now.
  var step: UInt64 { hash(Self.resolved(path)) ^ Self.host }

  /// The path without links, as far as it leads to something.
  static func resolved(_ path: String) -> String {
    // SAFETY: the text is copied, and then freed.
    if let real = unsafe realpath(path, nil) {
      defer { unsafe free(real) }
      return unsafe String(cString: real)
    }
    guard let slash = path.lastIndex(of: "/") else {
      return path == "." ? path : join(resolved("."), "/" + path)
    }
    return join(
      slash == path.startIndex ? "/" : resolved(String(path[..<slash])), path[slash...])
  }

  private static func join(_ outer: String, _ rest: some StringProtocol) -> String {
    (outer == "/" ? "" : outer) + rest
  }

  /// Identifies the host.
  private static let host: UInt64 = {
    var name = [CChar](repeating: 0, count: 256)
    unsafe gethostname(&name, name.count - 1)
    return hash(
      String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
  }()

  private static var standard: (folder: String, refusal: String?) {
    standard(runtime: environment("XDG_RUNTIME_DIR"), temporary: environment("TMPDIR"))
  }

  /// The user's folder of buses, by the values of `XDG_RUNTIME_DIR` and `TMPDIR`, or why it is not known.
  ///
  /// `sudo -E` leaves the variable of the calling user. A folder that root made there would shut
  /// that user out, and a folder elsewhere would be that of another bus, without other relays.
  static func standard(
    runtime: String?, temporary: String?
  ) -> (folder: String, refusal: String?) {
    let own = withoutSlash(temporary ?? "/tmp") + "/campanile-\(geteuid())"
    guard let runtime, runtime.hasPrefix("/") else { return (own, nil) }
    var status = stat()
    if unsafe stat(runtime, &status) == 0, status.st_uid != geteuid() {
      return (
        own,
        "XDG_RUNTIME_DIR is \(runtime), a folder of the user \(status.st_uid), and this process runs "
          + "as the user \(geteuid()): unset the variable, as sudo does without -E, or name a folder "
          + "for the bus."
      )
    }
    return (runtime + "/campanile", nil)
  }

  private static func withoutSlash(_ path: String) -> String {
    var path = path
    while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
    return path
  }

  private static func environment(_ name: String) -> String? {
    // SAFETY: the text is copied at once.
    unsafe getenv(name).map { unsafe String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  // MARK: Making

  /// Makes the folder, unless it is there, and checks that no other user has access.
  func prepare() throws(SystemError) { _ = try open() }

  /// The folder, opened again.
  private func open() throws(SystemError) -> Directory {
    if let refusal { throw SystemError(sentence: refusal) }
    try UnixSocket.check(Self.lastSocket(in: path))
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let outer = String(path[..<slash])
    try checkFoldersAround(outer)
    let around = try Directory(making: outer, in: nil)
    let found = try Directory(making: path, in: around)
    // Also in the place of the same folder, which a program that removes files may have had locked.
    let old = opened.withLock { opened in
      defer { opened = found }
      return opened
    }
    withExtendedLifetime(old) {}
    return found
  }

  /// Checks that no other user can replace this folder, or one of those around it, by another one.
  ///
  /// A user who may write to a folder may rename its entries, unless the folder has the sticky bit.
  private func checkFoldersAround(_ folder: String) throws(SystemError) {
    var folder = Self.resolved(folder)
    while let slash = folder.lastIndex(of: "/"), folder != "/" {
      folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
      var status = stat()
      // A folder that is missing, or cannot be looked at, is reported when the bus's is made in it.
      guard unsafe stat(folder, &status) == 0 else { continue }
      if status.st_mode & 0o022 != 0 && status.st_mode & S_ISVTX == 0 {
        throw SystemError(
          sentence: "Others can replace what is in the folder \(folder), whose mode is "
            + "\(String(status.st_mode & 0o777, radix: 8)): take away their right to write, or set "
            + "the sticky bit.")
      }
    }
  }

  // MARK: Generations

  func lockPath(_ generation: UInt64) -> String { path + "/" + lockName(generation) }
  func socketPath(_ generation: UInt64) -> String { path + "/" + socketName(generation) }
  private func lockName(_ generation: UInt64) -> String { hubName(generation, "lock") }
  private func socketName(_ generation: UInt64) -> String { hubName(generation, "sock") }
  private func hubName(_ generation: UInt64, _ kind: String) -> String {
    "hub." + String(generation, radix: 36) + "." + kind
  }
  func memberName(_ id: UInt64) -> String {
    "member." + String(id, radix: 16) + ".lock"
  }

  /// The folder as it was opened last.
  private var directory: Directory? { opened.withLock { $0 } }

  /// The folder as it was opened last, or now.
  private func folder() throws(SystemError) -> Directory {
    if let directory { return directory }
    return try open()
  }

  /// The highest generation that has been claimed, or 0.
  func highestGeneration() throws(SystemError) -> UInt64 {
    try folder().names().compactMap(Self.generation).max() ?? 0
  }

  /// The generation of a lock file.
  private static func generation(_ name: String) -> UInt64? {
    let parts = name.split(separator: ".")
    guard parts.count == 3, parts[0] == "hub", parts[2] == "lock" else { return nil }
    // A file of another program, after which there would be no generation.
    return UInt64(parts[1], radix: 36).flatMap { $0 <= lastGeneration ? $0 : nil }
  }

  /// Claims a generation, for which there can be one claim.
  ///
  /// - Returns: `nil` if it is another one's.
  func claim(_ generation: UInt64) throws(SystemError) -> FileLock? {
    if generation > Self.lastGeneration {
      throw SystemError(
        sentence: "The bus has had \(Self.lastGeneration) hubs, and can have no more. End the "
          + "processes that use it, and remove the folder \(path).")
    }
    // With the version, for processes with another version of the package.
    let lock = try folder().make(lockName(generation), saying: "\(protocolVersion)")
    guard let lock else { return nil }
    // The files of old generations are taken away: that this one was not there proves nothing. The
    // highest is never taken away.
    return try highestGeneration() == generation ? lock : nil
  }

  /// The version of the frames that a hub speaks, which listens; `nil` for those before version 3.
  func version(_ generation: UInt64) -> UInt32? {
    directory?.text(of: lockName(generation)).flatMap { UInt32($0) }
  }

  /// Whether a generation has no hub, and will have none.
  func isAbandoned(_ generation: UInt64) -> Bool { tryLock(lockName(generation)).isFree }

  /// Locks a file that no process has locked.
  private func tryLock(_ name: String) -> (isFree: Bool, lock: FileLock?) {
    guard let descriptor = directory?.open(name) else { return (false, nil) }
    if descriptor < 0 { return (errno == ENOENT, nil) }
    let lock = FileLock(locking: descriptor)
    return (lock != nil, lock)
  }

  /// Removes the files of hubs of earlier generations.
  ///
  /// A hub that has been stopped looks for the file of the next generation when it continues. That
  /// file stays as long as the hub has its lock.
  func removeGenerations(before generation: UInt64) {
    var isHeld = false
    let known = ((try? directory?.names()) ?? []).compactMap(Self.generation)
    for old in known.sorted() where old < generation {
      let wasHeld = isHeld
      isHeld = !isAbandoned(old)
      if isHeld || wasHeld { continue }
      directory?.remove(socketName(old))
      directory?.remove(lockName(old))
    }
  }

  /// Whether a generation has been claimed.
  func isClaimed(_ generation: UInt64) -> Bool {
    directory?.has(lockName(generation)) ?? false
  }

  /// Whether any generation after this one has been claimed: if files were deleted, it may not be the
  /// next.
  func isClaimed(after generation: UInt64) -> Bool {
    // The next one is also found by a process that has no descriptor left to read the folder.
    isClaimed(generation + 1) || ((try? highestGeneration()) ?? 0) > generation
  }

  /// Listens for the members of a generation.
  ///
  /// The system binds a socket by its path, so it is looked for afterwards where it must be.
  func listen(_ generation: UInt64) throws(SystemError) -> UnixSocket {
    directory?.remove(socketName(generation))
    let socket = try UnixSocket.listening(at: socketPath(generation))
    if directory?.has(socketName(generation)) == true { return socket }
    throw SystemError(sentence: "Another folder has taken the place of \(path).")
  }

  /// Whether the path still leads to the folder.
  var isInPlace: Bool { directory?.isInPlace ?? false }

  // MARK: Members

  /// Takes a lock that shows other processes that a member lives.
  func announce(_ member: UInt64) throws(SystemError) -> FileLock {
    let name = memberName(member)
    if let lock = try folder().make(name) { return lock }
    throw SystemError("The file \(path)/\(name) cannot be made", code: EEXIST)
  }

  /// Whether the file of a member is there.
  func isAnnounced(_ member: UInt64) -> Bool { directory?.has(memberName(member)) ?? false }

  /// The members whose processes live.
  func livingMembers() throws(SystemError) -> [UInt64] {
    try folder().names().compactMap { name in
      let parts = name.split(separator: ".")
      guard parts.count == 3, parts[0] == "member", parts[2] == "lock" else { return nil }
      return UInt64(parts[1], radix: 16)
    }.filter { !isDead($0) }
  }

  func remove(_ member: UInt64) { directory?.remove(memberName(member)) }

  /// Whether a member's process has died; what it has left is taken away.
  func isDead(_ member: UInt64) -> Bool {
    let (isFree, lock) = tryLock(memberName(member))
    guard let lock else { return isFree }
    // Under the lock, so that the next process to look finds no file, or no lock.
    remove(member)
    withExtendedLifetime(lock) {}
    return true
  }

  // MARK: The bus

  /// A number that no other bus has.
  func identify() throws(SystemError) -> UInt64 {
    let (directory, name) = (try folder(), "bus.id")
    // Others may make it, or remove it, meanwhile.
    for _ in 0..<10 {
      if let text = directory.text(of: name) {
        if let id = UInt64(text, radix: 16), id != 0 { return id }
        // After a power failure a file may be empty.
        directory.remove(name)
      }
      _ = try directory.make(name, saying: String(UInt64.random(in: 1 ... .max), radix: 16))
    }
    throw SystemError(sentence: "The file \(path)/\(name) cannot be read.")
  }
}

/// The hash function FNV-1a, the same in each process.
private func hash(_ text: String) -> UInt64 {
  text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}
