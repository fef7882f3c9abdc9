import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A word that every thread has for itself: the address of its record.
///
/// A value, which every registry keeps: asking the global for it would cost a call at each post.
struct ThreadSlot: Sendable {
  private let key: pthread_key_t

  static let records = ThreadSlot()

  /// Makes a slot whose records are given back when their threads end.
  private init() {
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
    self.key = key
  }

  /// The calling thread's record, or `nil` if this thread has not posted yet.
  @inline(__always)
  var value: UnsafeMutableRawPointer? {
    get { unsafe pthread_getspecific(key) }
    nonmutating set { unsafe pthread_setspecific(key, newValue) }
  }
}

/// What the package needs of the C library besides.
enum Platform {
  /// Lets about half a microsecond pass, without sleeping and without touching what others use.
  static func linger() {
    let own = Atomic<Int>(0)
    for _ in 0..<1_000 { _ = own.load(ordering: .sequentiallyConsistent) }
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
