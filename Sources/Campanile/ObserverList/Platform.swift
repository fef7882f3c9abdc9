#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What the package needs of the C library: one slot per thread, and standard error.
enum Platform {
  /// The slot that holds a thread's record; its destructor gives the record back.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    #if canImport(Darwin)
      let status = unsafe pthread_key_create(&key) { unsafe ThreadRecord.release($0) }
    #else
      let status = unsafe pthread_key_create(&key) { pointer in
        guard let pointer = unsafe pointer else { return }
        unsafe ThreadRecord.release(pointer)
      }
    #endif
    precondition(status == 0, "The process has no thread-specific key left for Campanile")
    return key
  }()

  /// The calling thread's record, or `nil` if this thread has not posted yet.
  @inline(__always)
  static var threadSlot: UnsafeMutableRawPointer? {
    get { unsafe pthread_getspecific(key) }
    set { unsafe pthread_setspecific(key, newValue) }
  }

  /// Writes one line to standard error.
  static func writeToStandardError(_ line: String) {
    var bytes = Array(line.utf8)
    bytes.append(UInt8(ascii: "\n"))
    unsafe bytes.withUnsafeBytes { buffer in
      var rest = unsafe buffer[...]
      while unsafe !rest.isEmpty {
        let written = unsafe write(
          2, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        // A closed standard error takes nothing: there is nobody left to tell.
        if written <= 0 { return }
        unsafe rest = rest.dropFirst(written)
      }
    }
  }
}
