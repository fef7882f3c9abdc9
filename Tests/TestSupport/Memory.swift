#if canImport(Glibc)
  import Foundation
  import Glibc

  /// What the C library's allocator has given out and not got back.
  package var liveBytes: Int {
    typealias Report = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
    // SAFETY: `malloc_info` has this type; its header is not part of the module.
    let report = unsafe unsafeBitCast(dlsym(nil, "malloc_info"), to: Report.self)
    var text: UnsafeMutablePointer<CChar>?
    var size = 0
    let file = unsafe open_memstream(&text, &size)!
    _ = unsafe report(0, file)
    unsafe fclose(file)
    defer { unsafe free(text) }
    // The last line of each kind sums up all arenas.
    let lines = unsafe String(cString: text!).split(separator: "\n")
    func total(_ start: String) -> Int {
      let line = lines.last { $0.hasPrefix(start) }
      return line.flatMap {
        Int($0.split(separator: "\"").last { $0.allSatisfy(\.isNumber) } ?? "")
      }
        ?? 0
    }
    return total("<system type=\"current\"") + total("<total type=\"mmap\"")
      - total("<total type=\"fast\"") - total("<total type=\"rest\"")
  }
#endif

/// Whether memory that was freed is given out again soon, which allocators that look for mistakes
/// avoid.
package func reusesAddresses() -> Bool {
  #if TSAN
    return false
  #else
    struct Plain { var number = 1 }
    var seen: Set<ObjectIdentifier> = []
    return (0..<1_000).contains { _ in !seen.insert(ObjectIdentifier(Plain() as AnyObject)).inserted
    }
  #endif
}
