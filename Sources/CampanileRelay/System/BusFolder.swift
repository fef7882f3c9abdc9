#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The folder of a bus, which is one user's.
///
/// A hub of the generation 35 has `hub.z.lock`, which it made and keeps locked, and listens at
/// `hub.z.sock`. A member keeps `member.1f2e3d4c.lock` locked. The system takes the locks away when
/// a process dies.
struct BusFolder: Sendable {
  let path: String

  /// - Parameters:
  ///   - bus: The name of the bus, of any characters.
  ///   - folder: The folder that contains the folders of all buses; by default the user's.
  init(bus: String, in folder: String?) {
    let name = SubjectName.escaped(bus)
    // With a slash at its end, a link would be followed, and one bus would have two names.
    let folder = Self.withoutSlash(folder ?? Self.standard) + "/"
    let short = String(hash(name), radix: 36)
    // A long name would make the path of the socket too long.
    let fits = name.utf8.count <= 40 && UnixSocket.hasRoom(for: Self.lastSocket(in: folder + name))
    path = folder + (fits || name.utf8.count <= short.utf8.count ? name : short)
  }

  /// The highest generation: seven digits of base 36.
  ///
  /// There is one for each takeover, and for each process that finds nobody on the bus. The path of
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

  private static var standard: String {
    standard(runtime: environment("XDG_RUNTIME_DIR"), temporary: environment("TMPDIR"))
  }

  /// The user's folder of buses, by the values of `XDG_RUNTIME_DIR` and `TMPDIR`.
  ///
  /// `sudo -E` leaves the variable of the user who called it. A folder that root made there would shut
  /// that user out, so a runtime folder of another user is not used.
  static func standard(runtime: String?, temporary: String?) -> String {
    if let runtime, runtime.hasPrefix("/") {
      var status = stat()
      let isThere = unsafe stat(runtime, &status) == 0
      if !isThere || status.st_uid == geteuid() { return runtime + "/campanile" }
    }
    return withoutSlash(temporary ?? "/tmp") + "/campanile-\(geteuid())"
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

  /// Makes the folder, unless it is there, and checks that nobody else can reach into it.
  func prepare() throws(SystemError) {
    try UnixSocket.check(Self.lastSocket(in: path))
    guard let slash = path.lastIndex(of: "/") else { return }
    let outer = String(path[..<slash])
    try checkFoldersAround(outer)
    for folder in [outer, path] {
      if unsafe mkdir(folder, 0o700) != 0 && errno != EEXIST {
        throw SystemError("The folder \(folder) of the bus cannot be made")
      }
      // Before anything is made in it.
      try check(folder)
    }
  }

  /// Checks that nobody else can put another folder in the place of this one, or of one around it.
  ///
  /// Whoever may write to a folder may rename what is in it, unless the folder has the sticky bit.
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

  private func check(_ folder: String) throws(SystemError) {
    var status = stat()
    if unsafe lstat(folder, &status) != 0 {
      throw SystemError("The folder \(folder) of the bus cannot be looked at")
    }
    let kind = status.st_mode & S_IFMT
    if kind == S_IFLNK {
      throw SystemError(sentence: "\(folder) is a link, and must be a folder of yours.")
    }
    if kind != S_IFDIR {
      throw SystemError(sentence: "\(folder) is no folder, and must be one of yours.")
    }
    if status.st_uid != geteuid() {
      throw SystemError(
        sentence: "The folder \(folder) belongs to the user \(status.st_uid), not to \(geteuid()).")
    }
    if status.st_mode & 0o077 != 0 {
      throw SystemError(
        sentence: "Others can reach into the folder \(folder), whose mode is "
          + "\(String(status.st_mode & 0o777, radix: 8)) and must be 700.")
    }
  }

  // MARK: Generations

  func lockPath(_ generation: UInt64) -> String { hubPath(generation, "lock") }
  func socketPath(_ generation: UInt64) -> String { hubPath(generation, "sock") }
  private func hubPath(_ generation: UInt64, _ kind: String) -> String {
    path + "/hub." + String(generation, radix: 36) + "." + kind
  }
  private func memberPath(_ id: UInt64) -> String {
    path + "/member." + String(id, radix: 16) + ".lock"
  }

  /// The highest generation that anybody has claimed, or 0.
  func highestGeneration() throws(SystemError) -> UInt64 {
    try names().compactMap(Self.generation).max() ?? 0
  }

  /// The generation of a lock file.
  private static func generation(_ name: String) -> UInt64? {
    let parts = name.split(separator: ".")
    guard parts.count == 3, parts[0] == "hub", parts[2] == "lock" else { return nil }
    // A file of somebody else; there would be no generation after it.
    return UInt64(parts[1], radix: 36).flatMap { $0 <= lastGeneration ? $0 : nil }
  }

  private func names() throws(SystemError) -> [String] {
    guard let folder = unsafe opendir(path) else {
      throw SystemError("The folder \(path) of the bus cannot be read")
    }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
      // SAFETY: the entry is valid until the next call, and its name ends with a zero.
      unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) {
          names.append(unsafe String(cString: $0))
        }
      }
    }
    return names
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
    let path = lockPath(generation)
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      if errno == EEXIST { return nil }
      throw SystemError("The file \(path) cannot be made")
    }
    // Whoever found it unlocked takes it for that of a dead hub, and goes on with the next one.
    guard let lock = FileLock(locking: descriptor) else { return nil }
    // The files of old generations are taken away: that this one was not there proves nothing. The
    // highest is never taken away.
    return try highestGeneration() == generation ? lock : nil
  }

  /// Whether nobody is the hub of a generation, nor will be.
  func isAbandoned(_ generation: UInt64) -> Bool {
    let descriptor = unsafe open(lockPath(generation), O_RDWR | O_CLOEXEC)
    if descriptor < 0 { return errno == ENOENT }
    return FileLock(locking: descriptor) != nil
  }

  /// Removes the files of hubs of earlier generations.
  ///
  /// A hub that has been stopped looks for the file of the next generation when it continues. That
  /// file stays as long as the hub has its lock.
  func removeGenerations(before generation: UInt64) {
    var isHeld = false
    for old in ((try? names()) ?? []).compactMap(Self.generation).sorted() where old < generation {
      let wasHeld = isHeld
      isHeld = !isAbandoned(old)
      if isHeld || wasHeld { continue }
      unsafe unlink(socketPath(old))
      unsafe unlink(lockPath(old))
    }
  }

  /// Whether a generation has been claimed.
  func isClaimed(_ generation: UInt64) -> Bool { unsafe access(lockPath(generation), F_OK) == 0 }

  /// Whether any generation after this one has been claimed: if files were deleted, it may not be the
  /// next.
  func isClaimed(after generation: UInt64) -> Bool {
    isClaimed(generation + 1) || ((try? highestGeneration()) ?? 0) > generation
  }

  // MARK: Members

  /// Takes a lock that shows other processes that a member lives.
  func announce(_ member: UInt64) throws(SystemError) -> FileLock {
    // The file gets its name when it is locked: who found it before would take it for that of a dead
    // member, and remove it.
    let (path, unnamed) = (memberPath(member), memberPath(member) + ".new")
    let descriptor = unsafe open(unnamed, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    if descriptor < 0 { throw SystemError("The file \(unnamed) cannot be made") }
    guard let lock = FileLock(locking: descriptor), unsafe rename(unnamed, path) == 0 else {
      let code = errno
      unsafe unlink(unnamed)
      throw SystemError("The file \(path) cannot be locked", code: code)
    }
    return lock
  }

  /// Whether the file of a member is there.
  func isAnnounced(_ member: UInt64) -> Bool { unsafe access(memberPath(member), F_OK) == 0 }

  /// The members whose processes live.
  func livingMembers() throws(SystemError) -> [UInt64] {
    try names().compactMap { name in
      let parts = name.split(separator: ".")
      guard parts.count == 3, parts[0] == "member", parts[2] == "lock" else { return nil }
      return UInt64(parts[1], radix: 16)
    }.filter { !isDead($0) }
  }

  func remove(_ member: UInt64) { unsafe unlink(memberPath(member)) }

  /// Whether a member's process has died; what it has left is taken away.
  func isDead(_ member: UInt64) -> Bool {
    let descriptor = unsafe open(memberPath(member), O_RDWR | O_CLOEXEC)
    if descriptor < 0 { return errno == ENOENT }
    guard let lock = FileLock(locking: descriptor) else { return false }
    // Under the lock: who looks next finds no file, or no lock.
    remove(member)
    withExtendedLifetime(lock) {}
    return true
  }

  // MARK: The bus

  /// A number that no other bus has.
  func identify() throws(SystemError) -> UInt64 {
    let file = path + "/bus.id"
    // Others may make it, or remove it, meanwhile.
    for _ in 0..<10 {
      if let text = readLine(of: file), let id = UInt64(text, radix: 16), id != 0 { return id }
      let new = UInt64.random(in: 1 ... .max)
      let temporary = file + "." + String(new, radix: 16)
      // On the disk before it has the name: after a power failure a file may be empty.
      try write(String(new, radix: 16), to: temporary)
      // The first one stays.
      _ = unsafe link(temporary, file)
      unsafe unlink(temporary)
    }
    throw SystemError(
      sentence: "The file \(file) holds no number. End the processes that use the bus, and remove "
        + "it.")
  }

  /// Gives the file with the bus's number the present time.
  func renewIdentity() { Self.renew(path + "/bus.id") }

  /// Gives the socket of a hub, and the locks of all hubs, the present time.
  ///
  /// An earlier hub that has been stopped looks for the lock of a later one.
  func renewHubs(_ generation: UInt64) {
    Self.renew(socketPath(generation))
    for known in ((try? names()) ?? []).compactMap(Self.generation) { Self.renew(lockPath(known)) }
  }

  private static func renew(_ file: String) { unsafe utimensat(AT_FDCWD, file, nil, 0) }

  private func readLine(of file: String) -> String? {
    let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe read(descriptor, $0.baseAddress, $0.count)
    }
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }

  private func write(_ text: String, to file: String) throws(SystemError) {
    let descriptor = unsafe open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if descriptor < 0 { throw SystemError("The file \(file) cannot be made") }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    let count = unsafe bytes.withUnsafeBytes {
      unsafe ProgramCalls.write($0, to: descriptor)
    }
    if count != bytes.count || fsync(descriptor) != 0 {
      let code = errno
      unsafe unlink(file)
      throw SystemError("The file \(file) cannot be written", code: code)
    }
  }
}

/// A file that this process has locked, until the object is released or the process dies.
final class FileLock: Sendable {
  private let descriptor: Int32

  /// Locks an open file, which is closed if another process has the lock.
  init?(locking descriptor: Int32) {
    self.descriptor = descriptor
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0 { return nil }
  }

  deinit { close(descriptor) }

  /// Gives the file the present time.
  func renew() { futimens(descriptor, nil) }
}

/// The hash function FNV-1a, the same in each process.
private func hash(_ text: String) -> UInt64 {
  text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}
