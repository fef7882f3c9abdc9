#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

#if os(Linux)
  import CampanileRuntime
#endif

// The calls of the C library that sockets take, and all that differs between platforms. Pointers live
// for the length of one call.

/// Why a call of the system failed, as a sentence.
struct SystemError: Error, CustomStringConvertible {
  let description: String
  let code: Int32

  init(_ what: String, code: Int32 = errno) {
    // SAFETY: the text is copied before another call can change it.
    let reason = unsafe String(cString: strerror(code))
    description = "\(what): \(reason)."
    self.code = code
  }

  init(sentence: String) {
    description = sentence
    code = 0
  }
}

/// A Unix socket or a listening one, closed with its owner.
struct UnixSocket: ~Copyable {
  let descriptor: Int32

  init(descriptor: consuming Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  // MARK: Making

  /// The bytes that the path of a socket may have.
  static let pathLimit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private static func make() throws(SystemError) -> UnixSocket {
    #if os(Linux)
      let descriptor = socket(
        AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    if descriptor < 0 { throw SystemError("No socket can be made") }
    let made = UnixSocket(descriptor: descriptor)
    #if !os(Linux)
      made.setUp()
    #endif
    return made
  }

  #if !os(Linux)
    private borrowing func setUp() {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      var on: Int32 = 1
      unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    }
  #endif

  /// Connects to a socket; `nil` if nobody listens there.
  static func connecting(to path: String) throws(SystemError) -> UnixSocket? {
    let made = try make()
    let status = unsafe try withAddress(of: path) { unsafe connect(made.descriptor, $0, $1) }
    if status == 0 { return made }
    // One that listens and has a full queue is asked again by whoever wants it.
    if [ENOENT, ECONNREFUSED, EAGAIN, EINPROGRESS].contains(errno) { return nil }
    throw SystemError("The socket \(path) cannot be connected to")
  }

  /// Listens at a path, where a file of a hub that is gone is taken away.
  ///
  /// Nobody but the user can connect, whatever the umask says: the mode is set before the file
  /// exists.
  static func listening(at path: String) throws(SystemError) -> UnixSocket {
    let made = try make()
    #if os(Linux)
      // The file takes the mode of the socket.
      if fchmod(made.descriptor, 0o600) != 0 { throw SystemError("A socket's mode cannot be set") }
    #endif
    _ = unsafe unlink(path)
    let status = unsafe try withAddress(of: path) { unsafe bind(made.descriptor, $0, $1) }
    if status != 0 { throw SystemError("The socket \(path) cannot be made") }
    #if !os(Linux)
      // The folder lets nobody in meanwhile.
      if chmod(path, 0o600) != 0 { throw SystemError("The mode of \(path) cannot be set") }
    #endif
    if listen(made.descriptor, 64) != 0 { throw SystemError("The socket \(path) cannot listen") }
    return made
  }

  private static func withAddress(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(SystemError) -> Int32 {
    if path.utf8.count > pathLimit {
      throw SystemError(
        sentence: "The path of the bus's socket has \(path.utf8.count) bytes and may have "
          + "\(pathLimit): \(path)")
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // SAFETY: the path is shorter than its place, whose other bytes are zero.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      for (index, byte) in path.utf8.enumerated() { unsafe place[index] = byte }
    }
    // SAFETY: the address begins with what a `sockaddr` has, and lives for the call.
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Accepts one connection; `nil` if nobody waits.
  borrowing func accepted() -> UnixSocket? {
    #if os(Linux)
      let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let accepted = accept4(descriptor, nil, nil, flags)
    #else
      let accepted = unsafe accept(descriptor, nil, nil)
    #endif
    if accepted < 0 { return nil }
    let made = UnixSocket(descriptor: accepted)
    #if !os(Linux)
      made.setUp()
    #endif
    return made
  }

  /// The user of the process at the other end.
  borrowing func peerUser() -> UInt32? {
    #if os(Linux)
      // The process, the user and the group: Swift does not see `struct ucred`.
      var credentials: (Int32, Int32, Int32) = (0, -1, -1)
      var size = socklen_t(MemoryLayout.size(ofValue: credentials))
      let status = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size)
      return status == 0 ? UInt32(bitPattern: credentials.1) : nil
    #else
      var (user, group) = (uid_t(), gid_t())
      return unsafe getpeereid(descriptor, &user, &group) == 0 ? user : nil
    #endif
  }

  // MARK: Bytes

  enum Transfer: Equatable {
    case bytes(Int)
    /// Not now.
    case none
    /// The other end has closed, or is gone.
    case end
  }

  /// Reads what there is, `limit` bytes at the most.
  borrowing func read(atMost limit: Int) -> (transfer: Transfer, bytes: [UInt8]) {
    var transfer = Transfer.none
    // SAFETY: so many bytes of the buffer are written as it is said to have.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      transfer = unsafe read(into: UnsafeMutableRawBufferPointer(buffer))
      if case .bytes(let read) = transfer { count = read }
    }
    return (transfer, bytes)
  }

  private borrowing func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    while true {
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .none : .end
    }
  }

  /// Writes as much as the system takes.
  borrowing func write(_ bytes: ArraySlice<UInt8>) -> Transfer {
    while true {
      #if os(Linux)
        let flags = Int32(MSG_NOSIGNAL)
      #else
        let flags: Int32 = 0
      #endif
      let count = unsafe bytes.withUnsafeBytes {
        unsafe send(descriptor, $0.baseAddress, $0.count, flags)
      }
      if count >= 0 { return .bytes(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .none : .end
    }
  }
}
