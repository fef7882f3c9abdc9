#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

import Campanile
import Dispatch

/// Reports when files of certain names appear and disappear in a folder, until it is released.
///
/// On Apple platforms, it also reports others.
final class FolderWatch: Sendable {
  #if os(Linux)
    private let source: Locked<any DispatchSourceRead>
  #else
    private let source: Locked<any DispatchSourceFileSystemObject>
  #endif

  /// - Parameters:
  ///   - prefixes: The beginnings of the names.
  ///   - handle: Called on a queue.
  init?(
    _ path: String, of prefixes: [String], on queue: DispatchQueue,
    _ handle: @escaping @Sendable () -> Void
  ) {
    #if os(Linux)
      let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
      if descriptor < 0 { return nil }
      let events = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
      if unsafe inotify_add_watch(descriptor, path, UInt32(events)) < 0 {
        close(descriptor)
        return nil
      }
      source = Locked(DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue))
      let handleEvents = { @Sendable in if Self.hasNews(descriptor, of: prefixes) { handle() } }
    #else
      let descriptor = unsafe open(path, O_EVTONLY | O_DIRECTORY | O_CLOEXEC)
      if descriptor < 0 { return nil }
      source = Locked(
        DispatchSource.makeFileSystemObjectSource(
          fileDescriptor: descriptor, eventMask: [.write, .delete, .rename], queue: queue))
      let handleEvents = handle
    #endif
    source.withLock { source in
      source.setEventHandler(handler: handleEvents)
      source.setCancelHandler { close(descriptor) }
      source.activate()
    }
  }

  deinit { source.withLock { $0.cancel() } }

  #if os(Linux)
    /// Reads the events that there are.
    ///
    /// - Returns: Whether any is about such a file or the folder.
    private static func hasNews(_ descriptor: Int32, of prefixes: [String]) -> Bool {
      var isNews = false
      var bytes = [UInt8](repeating: 0, count: 1 << 14)
      while true {
        let count = unsafe bytes.withUnsafeMutableBytes {
          unsafe read(descriptor, $0.baseAddress, $0.count)
        }
        if count <= 0 { return isNews }
        var place = 0
        // The folder, what happened and a cookie; then the length of the name, and the name.
        while place + 16 <= count {
          let length = (0..<4).reduce(0) { $0 | Int(bytes[place + 12 + $1]) << (8 * $1) }
          let name = bytes[(place + 16)..<min(place + 16 + length, count)]
          // Without a name it is about the folder, or events have been lost.
          if length == 0 || prefixes.contains(where: { name.starts(with: $0.utf8) }) {
            isNews = true
          }
          place += 16 + length
        }
      }
    }
  #endif
}
