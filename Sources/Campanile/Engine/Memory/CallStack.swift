internal import CampanileRuntime

/// The functions that a thread is inside of.
package enum CallStack {
  /// The number of innermost functions to read.
  ///
  /// About nine of them belong to this package, or twice as many if nothing is inlined. A bridge adds
  /// its own and Foundation's. The others belong to the code that posts.
  ///
  /// The table of callers in CampanileInspector stores four fewer, which all count in the fingerprint.
  #if DEBUG
    private static let depth = 64
  #else
    private static let depth = 32
  #endif

  /// A number that identifies the thread's call stack; `nil` if the C library cannot read it.
  ///
  /// Stacks that differ only further out have the same number. Others have the same number about as
  /// often as two random 64-bit numbers are equal.
  package static func fingerprint() -> UInt64? {
    #if canImport(Darwin) || canImport(Glibc)
      // SAFETY: the library writes so many addresses as it says, and `depth` at most.
      unsafe withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: depth) {
        let count = unsafe Int(backtrace($0.baseAddress!, Int32(depth)))
        var number: UInt64 = 0
        for index in 0..<count {
          number = unsafe (number ^ UInt64(UInt(bitPattern: $0[index]))) &* 0x9E37_79B9_7F4A_7C15
          number ^= number &>> 32
        }
        return count == 0 ? nil : number
      }
    #else
      nil
    #endif
  }
}
