import Dispatch
import Synchronization

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

/// A thread-local word: the address of an object that belongs to the thread.
///
/// It is a value, and every registry keeps a copy, because reading a global would cost a call at
/// each post.
struct ThreadSlot: Sendable {
  #if canImport(Darwin)
    typealias Destructor = @convention(c) (UnsafeMutableRawPointer) -> Void
  #else
    typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void
  #endif

  private let key: pthread_key_t

  /// The records of the threads that post.
  static let records = unsafe ThreadSlot { unsafe ThreadRecord.release($0) }

  /// Makes a slot.
  ///
  /// - Parameter destructor: Called with the thread's word in the slot when the thread ends.
  init(_ destructor: Destructor) {
    var key = pthread_key_t()
    let status = unsafe pthread_key_create(&key, destructor)
    require(status == 0, "The process has no thread-specific key left for Campanile")
    self.key = key
  }

  /// The calling thread's word in the slot, or `nil` at first.
  var value: UnsafeMutableRawPointer? {
    get { unsafe pthread_getspecific(key) }
    nonmutating set { unsafe pthread_setspecific(key, newValue) }
  }
}

/// Other functions of the C library that the package needs.
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

  /// The system's number for the calling thread, as debuggers and `ps` show it.
  static var threadNumber: UInt64 {
    #if canImport(Darwin)
      var number: UInt64 = 0
      unsafe pthread_threadid_np(nil, &number)
      return number
    #else
      return UInt64(gettid())
    #endif
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
