#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The name of the calling thread in traces.
enum ThreadName {
  static var current: String {
    #if os(Linux)
      // A link to the numbers of the process and the thread, which are equal for the first one.
      let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
      if let parts = link?.split(separator: "/"), parts.first == parts.last { return "main" }
      let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
      return name?.split(separator: "\n").first.map(String.init) ?? "thread"
    #else
      if Thread.isMainThread { return "main" }
      let name = Thread.current.name ?? ""
      return name.isEmpty ? "thread" : name
    #endif
  }
}
