#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The name of the calling thread in traces.
enum ThreadName {
  static var current: String {
    #if os(Linux)
      // The kernel provides the name, and which thread is the first one.
      guard let text = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8),
        let status = try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
      else { return "thread" }
      let numbers = status.split(separator: "\n").compactMap { line -> Substring? in
        let parts = line.split(whereSeparator: \.isWhitespace)
        return parts.first == "Tgid:" || parts.first == "Pid:" ? parts.last : nil
      }
      if numbers.count == 2, numbers[0] == numbers[1] { return "main" }
      return text.split(separator: "\n").first.map(String.init) ?? "thread"
    #else
      if Thread.isMainThread { return "main" }
      let name = Thread.current.name ?? ""
      return name.isEmpty ? "thread" : name
    #endif
  }
}
