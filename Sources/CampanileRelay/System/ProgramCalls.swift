#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The calls of the C library that a program takes.
package enum ProgramCalls {
  package static var processID: Int32 { getpid() }

  /// Opens the standard descriptors that were closed when the program was started.
  ///
  /// Otherwise a socket would be one of them, and would receive the output. What is open now cannot be
  /// used: writing fails, as it does to a closed descriptor.
  package static func openStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest one that is free, which is this.
      _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Writes bytes to standard output, all of them, also where that is a pipe that does not block.
  package static func output(_ bytes: [UInt8]) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count)
      }
      let code = errno
      if count >= 0 {
        rest.removeFirst(count)
      } else if code == EAGAIN {
        var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        // A task that is canceled does not wait for a reader.
        guard unsafe poll(&output, 1, 100) == 0, Task.isCancelled else { continue }
        throw SystemError("The output cannot be written", code: code)
      } else if code != EINTR {
        throw SystemError("The output cannot be written", code: code)
      }
    }
  }

  /// Whether the program was started with a signal ignored.
  package static func ignores(_ number: Int32) -> Bool {
    var action = sigaction()
    if unsafe sigaction(number, nil, &action) != 0 { return false }
    // SAFETY: handlers are only compared, and never called. `SIG_IGN` is not a function.
    #if canImport(Darwin)
      let handler = unsafe unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
    #else
      let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    #endif
    return unsafe handler == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
