internal import CampanileRuntime

/// The functions that a thread is inside of.
package enum CallStack {
  /// How many addresses are taken at most.
  package static let limit = 32

  /// The return addresses of the calling functions, the innermost first; none where the C library
  /// cannot tell.
  package static func capture() -> [UInt] {
    #if canImport(Darwin) || canImport(Glibc)
      unsafe [UInt](unsafeUninitializedCapacity: limit) { buffer, count in
        // SAFETY: an address has the size and layout of a number, and the library writes `limit` of
        // them at most.
        unsafe buffer.withMemoryRebound(to: UnsafeMutableRawPointer?.self) { addresses in
          count = unsafe Int(backtrace(addresses.baseAddress!, Int32(limit)))
        }
      }
    #else
      []
    #endif
  }
}
