import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Functions of the C library that the package needs.
package enum Platform {
  /// Lets half a microsecond pass, without sleeping and without touching what others use.
  package static func linger() {
    let end = DispatchTime.now().uptimeNanoseconds &+ 500
    while DispatchTime.now().uptimeNanoseconds < end {}
  }

  /// Nanoseconds of a clock that never goes back.
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// The nanoseconds for which the calling thread has used a processor.
  package static var threadNanoseconds: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Writes one line to standard error, with spaces for line breaks.
  package static func writeToStandardError(_ line: String) {
    var bytes = Array(line.utf8)
    for index in bytes.indices where bytes[index] == 10 || bytes[index] == 13 { bytes[index] = 32 }
    bytes.append(UInt8(ascii: "\n"))
    unsafe bytes.withUnsafeBytes { buffer in
      var rest = unsafe buffer[...]
      while unsafe !rest.isEmpty {
        let written = unsafe write(
          2, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if written < 0 && errno == EINTR { continue }
        // A closed standard error takes nothing: there is nobody left to tell.
        if written <= 0 { return }
        unsafe rest = rest.dropFirst(written)
      }
    }
  }
}
