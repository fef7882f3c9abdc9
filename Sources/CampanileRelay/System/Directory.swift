#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An open folder of the user's own.
///
/// Its files are reached through its descriptor, so another folder that is put in its place since
/// then is never touched.
final class Directory: Sendable {
  private let path: String
  private let own: Descriptor
  private let device: dev_t
  private let number: ino_t

  /// Opens a folder, which is made unless it is there, and checks that no other user has access.
  ///
  /// - Parameter outer: The folder that it is in, if that is open.
  convenience init(making path: String, in outer: Directory?) throws(SystemError) {
    let name = outer == nil ? path : path.split(separator: "/").last.map(String.init) ?? "."
    let place = outer?.own.number ?? AT_FDCWD
    if unsafe mkdirat(place, name, 0o700) != 0 && errno != EEXIST {
      throw SystemError("The folder \(path) of the bus cannot be made")
    }
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe openat(place, name, flags, 0)
    let code = errno
    if descriptor < 0 {
      var status = stat()
      let isThere = unsafe fstatat(place, name, &status, AT_SYMLINK_NOFOLLOW) == 0
      if isThere {
        try Self.checkKind(status, path)
        try Self.checkOwner(status, path)
      }
      throw SystemError("The folder \(path) of the bus cannot be opened", code: code)
    }
    try self.init(path, Descriptor(descriptor))
  }

  private init(_ path: String, _ own: consuming Descriptor) throws(SystemError) {
    var status = stat()
    if unsafe fstat(own.number, &status) != 0 {
      throw SystemError("The folder \(path) of the bus cannot be looked at")
    }
    (self.path, device, number) = (path, status.st_dev, status.st_ino)
    self.own = own
    try Self.checkOwner(status, path)
    if status.st_mode & 0o077 != 0 {
      throw SystemError(
        sentence: "Others can reach into the folder \(path), whose mode is "
          + "\(String(status.st_mode & 0o777, radix: 8)) and must be 700.")
    }
    // Programs that remove old files leave out a folder that is locked, with all that is in it.
    flock(self.own.number, LOCK_SH | LOCK_NB)
  }

  private static func checkOwner(_ status: stat, _ path: String) throws(SystemError) {
    if status.st_uid != geteuid() {
      throw SystemError(
        sentence: "The folder \(path) belongs to the user \(status.st_uid), not to \(geteuid()).")
    }
  }

  private static func checkKind(_ status: stat, _ path: String) throws(SystemError) {
    let kind = status.st_mode & S_IFMT
    if kind == S_IFLNK {
      throw SystemError(sentence: "\(path) is a link, and must be a folder of yours.")
    }
    if kind != S_IFDIR {
      throw SystemError(sentence: "\(path) is no folder, and must be one of yours.")
    }
  }

  /// Whether its path still leads to it.
  var isInPlace: Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_dev == device && status.st_ino == number
  }

  // MARK: Files

  /// Makes a file of the user's alone, which is locked and has its text when it gets its name.
  ///
  /// A process that found a file that is not locked yet would take it for one of the dead, and one that
  /// found it empty would miss its text.
  ///
  /// - Returns: `nil` if there is a file of this name.
  func make(_ name: String, saying text: String = "") throws(SystemError) -> FileLock? {
    let unnamed = name + "." + String(UInt64.random(in: 1 ... .max), radix: 16)
    let descriptor = unsafe openat(
      own.number, unnamed, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if descriptor < 0 { throw SystemError("The file \(path)/\(name) cannot be made") }
    defer { remove(unnamed) }
    guard let lock = FileLock(locking: descriptor) else {
      throw SystemError("The file \(path)/\(name) cannot be locked")
    }
    let bytes = Array(text.utf8)
    let count = unsafe bytes.withUnsafeBytes {
      unsafe write(descriptor, $0.baseAddress, $0.count)
    }
    if count != bytes.count { throw SystemError("The file \(path)/\(name) cannot be written") }
    if unsafe linkat(own.number, unnamed, own.number, name, 0) == 0 { return lock }
    if errno == EEXIST { return nil }
    throw SystemError("The file \(path)/\(name) cannot be made")
  }

  /// Opens a file; -1 if that cannot be done, with the reason in `errno`.
  func open(_ name: String) -> Int32 {
    unsafe openat(own.number, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
  }

  func has(_ name: String) -> Bool { unsafe faccessat(own.number, name, F_OK, 0) == 0 }

  func remove(_ name: String) { unsafe unlinkat(own.number, name, 0) }

  /// The first bytes of a file, as text.
  func text(of name: String) -> String? {
    let descriptor = open(name)
    if descriptor < 0 { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe read(descriptor, $0.baseAddress, $0.count)
    }
    return count >= 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }

  func names() throws(SystemError) -> [String] {
    let descriptor = unsafe openat(own.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0, let folder = unsafe fdopendir(descriptor) else {
      throw SystemError("The folder \(path) of the bus cannot be read")
    }
    // Closes the descriptor, too.
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

  /// Whether the file has been deleted.
  var isLost: Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }
}
