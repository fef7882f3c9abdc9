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

import Dispatch

// The calls of the C library that sockets take, and all that differs between platforms. Pointers live
// for the length of one call.

/// Why a call of the system failed, as a sentence.
package struct SystemError: Error, CustomStringConvertible {
  package let description: String
  package let code: Int32

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

/// A descriptor, closed with its owner.
struct Descriptor: ~Copyable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { close(number) }

  /// One that is kept for when the process has no others left.
  static func spare() -> Descriptor? {
    let number = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    return number < 0 ? nil : Descriptor(number)
  }
}

/// A Unix socket or a listening one, closed with its owner.
struct UnixSocket: ~Copyable {
  private let own: Descriptor
  #if os(Linux)
    private let readable: Descriptor
    private let writable: Descriptor
  #endif

  #if os(Linux)
    private init(_ own: consuming Descriptor) throws(SystemError) {
      let readable = try Self.makePoll()
      let writable = try Self.makePoll()
      try self.init(own, readable, writable)
    }

    private init(
      _ own: consuming Descriptor, _ readable: consuming Descriptor,
      _ writable: consuming Descriptor
    ) throws(SystemError) {
      try Self.watch(own.number, for: POLLIN, by: readable.number)
      try Self.watch(own.number, for: POLLOUT, by: writable.number)
      self.own = own
      self.readable = readable
      self.writable = writable
    }
  #else
    private init(_ own: consuming Descriptor) throws(SystemError) { self.own = own }
  #endif

  private var descriptor: Int32 { own.number }

  // MARK: Events

  /// The states in which a socket is reported.
  enum Event {
    /// There are bytes, a connection or the end to be read.
    case readable
    /// The system takes bytes.
    case writable
  }

  #if os(Linux)
    /// Makes a descriptor that is to watch a socket.
    private static func makePoll() throws(SystemError) -> Descriptor {
      let poll = epoll_create1(Int32(EPOLL_CLOEXEC))
      if poll < 0 { throw SystemError("A socket cannot be watched") }
      return Descriptor(poll)
    }

    /// Makes a descriptor readable while a socket has an event.
    ///
    /// A source of Dispatch that watches a socket itself fails on Linux when the other end closes. Its
    /// handler may be called once for the last bytes and the end together, and never again. Dispatch
    /// may also use memory that it has freed:
    /// https://github.com/swiftlang/swift-corelibs-libdispatch/issues/949. Both come from the event
    /// that tells of a closed connection, which a descriptor of epoll does not have.
    private static func watch(
      _ socket: Int32, for event: Int32, by poll: Int32
    ) throws(SystemError) {
      // The events of epoll have the numbers of those of `poll`.
      // SAFETY: the event is one, and is read during the call.
      var wanted = unsafe epoll_event()
      unsafe wanted.events = UInt32(event)
      if unsafe epoll_ctl(poll, EPOLL_CTL_ADD, socket, &wanted) != 0 {
        throw SystemError("A socket cannot be watched")
      }
    }
  #endif

  /// Makes a source whose handler is called while the socket has an event.
  ///
  /// The socket must not be closed before the source has been canceled.
  borrowing func makeSource(
    of event: Event, on queue: DispatchQueue
  ) -> any DispatchSourceProtocol {
    #if os(Linux)
      let poll = event == .readable ? readable.number : writable.number
      return DispatchSource.makeReadSource(fileDescriptor: poll, queue: queue)
    #else
      switch event {
      case .readable: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      case .writable: DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
      }
    #endif
  }

  // MARK: Making

  /// The bytes that the path of a socket may have.
  static let pathLimit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private static var kind: Int32 {
    #if os(Linux)
      Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    #else
      SOCK_STREAM
    #endif
  }

  private static func make() throws(SystemError) -> UnixSocket {
    let descriptor = socket(AF_UNIX, kind, 0)
    if descriptor < 0 { throw SystemError("No socket can be made") }
    return try made(Descriptor(descriptor))
  }

  private static func made(_ own: consuming Descriptor) throws(SystemError) -> UnixSocket {
    #if !os(Linux)
      setUp(own.number)
    #endif
    return try UnixSocket(own)
  }

  /// Two sockets that are connected to each other.
  struct Pair: ~Copyable {
    let first: UnixSocket
    let second: UnixSocket
  }

  static func pair() throws(SystemError) -> Pair {
    var ends: [Int32] = [-1, -1]
    // SAFETY: two numbers are written.
    if unsafe socketpair(AF_UNIX, kind, 0, &ends) != 0 {
      throw SystemError("No sockets can be made")
    }
    let second = Descriptor(ends[1])
    return Pair(first: try made(Descriptor(ends[0])), second: try made(second))
  }

  #if !os(Linux)
    private static func setUp(_ descriptor: Int32) {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      var on: Int32 = 1
      unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    }
  #endif

  /// Connects to a socket; `nil` if no process listens there.
  static func connecting(to path: String) throws(SystemError) -> UnixSocket? {
    let made = try make()
    let status = unsafe try withAddress(of: path) { unsafe connect(made.descriptor, $0, $1) }
    if status == 0 { return made }
    // If a listening socket has a full queue, the caller can try again.
    if [ENOENT, ECONNREFUSED, EAGAIN, EINPROGRESS].contains(errno) { return nil }
    throw SystemError("The socket \(path) cannot be connected to")
  }

  /// Listens at a path.
  ///
  /// Only the user can connect, whatever the umask is, because the mode is set before the file
  /// exists.
  static func listening(at path: String) throws(SystemError) -> UnixSocket {
    let made = try make()
    #if os(Linux)
      // The file takes the mode of the socket.
      if fchmod(made.descriptor, 0o600) != 0 { throw SystemError("A socket's mode cannot be set") }
    #endif
    let status = unsafe try withAddress(of: path) { unsafe bind(made.descriptor, $0, $1) }
    if status != 0 { throw SystemError("The socket \(path) cannot be made") }
    #if !os(Linux)
      // Meanwhile the folder admits no other user.
      if unsafe chmod(path, 0o600) != 0 { throw SystemError("The mode of \(path) cannot be set") }
    #endif
    if listen(made.descriptor, 64) != 0 { throw SystemError("The socket \(path) cannot listen") }
    return made
  }

  /// Whether a socket can have a path.
  static func hasRoom(for path: String) -> Bool { path.utf8.count <= pathLimit }

  static func check(_ path: String) throws(SystemError) {
    if hasRoom(for: path) { return }
    throw SystemError(
      sentence: "The path of the bus's socket has \(path.utf8.count) bytes and may have "
        + "\(pathLimit): \(path)")
  }

  private static func withAddress(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(SystemError) -> Int32 {
    try check(path)
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

  /// Accepts one connection; `nil` if none waits.
  ///
  /// - Throws: The system has no room for a connection. The next one may still wait.
  borrowing func accepted() throws(SystemError) -> UnixSocket? {
    #if os(Linux)
      // Made first: a connection that cannot be watched is not accepted, and waits.
      let readable = try Self.makePoll()
      let writable = try Self.makePoll()
    #endif
    let accepted = acceptNext()
    if accepted < 0 {
      if errno == EAGAIN || errno == EWOULDBLOCK { return nil }
      throw SystemError("A connection cannot be accepted")
    }
    #if os(Linux)
      return try UnixSocket(Descriptor(accepted), readable, writable)
    #else
      return try Self.made(Descriptor(accepted))
    #endif
  }

  private borrowing func acceptNext() -> Int32 {
    var accepted: Int32
    repeat {
      #if os(Linux)
        let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        accepted = accept4(descriptor, nil, nil, flags)
      #else
        accepted = accept(descriptor, nil, nil)
      #endif
    } while accepted < 0 && (errno == EINTR || errno == ECONNABORTED)
    return accepted
  }

  /// A write to a closed socket is an error and no signal.
  private static var sendFlags: Int32 {
    #if os(Linux)
      Int32(MSG_NOSIGNAL)
    #else
      0
    #endif
  }

  /// Accepts one connection for which the system has no room, says why it ends, and ends it.
  ///
  /// - Parameter spare: A descriptor that is kept for this, and is closed meanwhile.
  /// - Returns: Whether there was one.
  borrowing func refuse(saying bytes: [UInt8], with spare: inout Descriptor?) -> Bool {
    spare = nil
    defer { spare = Descriptor.spare() }
    let accepted = acceptNext()
    if accepted < 0 { return false }
    let refused = Descriptor(accepted)
    #if !os(Linux)
      Self.setUp(accepted)
    #endif
    _ = unsafe bytes.withUnsafeBytes {
      unsafe send(refused.number, $0.baseAddress, $0.count, Self.sendFlags)
    }
    return true
  }

  /// The user of the process at the other end, in words, unless it is this process's own.
  ///
  /// Folders keep other users out. One that got in all the same is found here.
  borrowing func otherUser() -> String? {
    let user = peerUser()
    if user == geteuid() { return nil }
    return user.map { "the user \($0)" } ?? "a user who is not known"
  }

  static var user: UInt32 { geteuid() }

  private borrowing func peerUser() -> UInt32? {
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

  /// Ends the connection for both ends, so that each reads the end.
  borrowing func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  enum Transfer: Equatable {
    case bytes(Int)
    /// Nothing now.
    case none
    /// The other end has closed, or no longer exists.
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
    var wasReset = false
    while true {
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno == EINTR { continue }
      // The other end has closed without having read all. What it had written before can be read.
      if errno == ECONNRESET && !wasReset {
        wasReset = true
        continue
      }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .none : .end
    }
  }

  /// Writes as much as the system takes.
  borrowing func write(_ bytes: ArraySlice<UInt8>) -> Transfer {
    while true {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe send(descriptor, $0.baseAddress, $0.count, Self.sendFlags)
      }
      if count >= 0 { return .bytes(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .none : .end
    }
  }
}
