#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// An ordinary file that can be read at any position.
///
/// Each read names its position, so copies of the reference are independent. The file is closed
/// when the last reference is released.
final class InputFile: Sendable {
  let path: String
  let size: Int
  private let descriptor: Int32

  /// Opens the file at `path`.
  init(path: String) throws(WaveError) {
    // Without `O_NONBLOCK`, opening a named pipe would wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw WaveError(.unreadable, path, "cannot be opened: \(Self.lastError())")
    }
    self.path = path
    self.descriptor = descriptor
    var status = stat()
    let known = unsafe fstat(descriptor, &status) == 0
    self.size = known ? Int(status.st_size) : 0
    guard known, status.st_mode & S_IFMT == S_IFREG else {
      throw WaveError(.unreadable, path, "is not an ordinary file")
    }
  }

  deinit { close(descriptor) }

  /// Fills the first `count` bytes of `buffer`, starting at `position`.
  ///
  /// The file must have that many bytes.
  func read(_ count: Int, at position: Int, into buffer: inout [UInt8]) throws(WaveError) {
    precondition(count <= buffer.count, "A read needs a buffer that holds what it asks for")
    var filled = 0
    while filled < count {
      // SAFETY: `filled < count <= buffer.count`, so the bytes asked for lie inside the buffer.
      let result = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe pread(
          descriptor, bytes.baseAddress! + filled, count - filled, off_t(position + filled))
      }
      guard result >= 0 || errno == EINTR else {
        throw WaveError(.unreadable, path, "cannot be read: \(Self.lastError())")
      }
      guard result != 0 else {
        throw WaveError(
          .truncated, path, "was truncated to \(position + filled) bytes while it was read")
      }
      filled += max(0, result)
    }
  }

  private static func lastError() -> String { unsafe String(cString: strerror(errno)) }
}
