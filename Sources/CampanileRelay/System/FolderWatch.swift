#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

import Campanile
import Dispatch

/// Reports when files of hubs appear and disappear in a folder, until it is released.
final class FolderWatch: Sendable {
  #if os(Linux)
    private let number: UInt64

    /// - Parameter handle: Called on a queue.
    init?(_ path: String, on queue: DispatchQueue, _ handle: @escaping @Sendable () -> Void) {
      let number = FolderEvents.shared?.add(path) { queue.async(execute: handle) }
      guard let number else { return nil }
      self.number = number
    }

    deinit { FolderEvents.shared?.remove(number) }
  #else
    private let source: Locked<any DispatchSourceFileSystemObject>

    init?(_ path: String, on queue: DispatchQueue, _ handle: @escaping @Sendable () -> Void) {
      let descriptor = unsafe open(path, O_EVTONLY | O_DIRECTORY | O_CLOEXEC)
      if descriptor < 0 { return nil }
      source = Locked(
        DispatchSource.makeFileSystemObjectSource(
          fileDescriptor: descriptor, eventMask: [.write, .delete, .rename], queue: queue))
      source.withLock { source in
        source.setEventHandler(handler: handle)
        source.setCancelHandler { close(descriptor) }
        source.activate()
      }
    }

    deinit { source.withLock { $0.cancel() } }
  #endif
}

#if os(Linux)
  /// All events of folders in this process, because a user has few such descriptors.
  private final class FolderEvents: Sendable {
    static let shared = FolderEvents()

    private struct Watch {
      var folder: Int32
      var handle: @Sendable () -> Void
    }

    private struct State {
      var watches: [UInt64: Watch] = [:]
      var last: UInt64 = 0
    }

    private let own: Descriptor
    private let source: Locked<any DispatchSourceRead>
    private let state = Locked(State())

    private init?() {
      let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
      if descriptor < 0 { return nil }
      own = Descriptor(descriptor)
      source = Locked(
        DispatchSource.makeReadSource(
          fileDescriptor: descriptor, queue: DispatchQueue(label: "campanile.relay.folders")))
      source.withLock { source in
        source.setEventHandler { [weak self] in self?.readAll() }
        source.activate()
      }
    }

    func add(_ path: String, _ handle: @escaping @Sendable () -> Void) -> UInt64? {
      let events = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
      // Under the lock: what happens from now on is read after the watch is known.
      return state.withLock { state in
        let folder = unsafe inotify_add_watch(own.number, path, UInt32(events))
        if folder < 0 { return nil }
        state.last += 1
        state.watches[state.last] = Watch(folder: folder, handle: handle)
        return state.last
      }
    }

    func remove(_ number: UInt64) {
      state.withLock { state in
        guard let watch = state.watches.removeValue(forKey: number) else { return }
        if state.watches.values.contains(where: { $0.folder == watch.folder }) { return }
        inotify_rm_watch(own.number, watch.folder)
      }
    }

    private func readAll() {
      var folders: Set<Int32> = []
      var bytes = [UInt8](repeating: 0, count: 1 << 14)
      while true {
        let count = unsafe bytes.withUnsafeMutableBytes {
          unsafe read(own.number, $0.baseAddress, $0.count)
        }
        if count <= 0 { break }
        var place = 0
        // The folder, what happened, a cookie, and the length of the name, which follows.
        while place + 16 <= count {
          func number(_ offset: Int) -> UInt32 {
            (0..<4).reduce(0) { $0 | UInt32(bytes[place + offset + $1]) << UInt32(8 * $1) }
          }
          let length = Int(number(12))
          let name = bytes[(place + 16)..<min(place + 16 + length, count)]
          // Members join and leave without a change of hubs. Without a name it is about the folder.
          if length == 0 || name.starts(with: "hub.".utf8) {
            folders.insert(Int32(bitPattern: number(0)))
          }
          place += 16 + length
        }
      }
      let handlers = state.withLock { state in
        // Without a folder, events have been lost.
        state.watches.values.filter { folders.contains($0.folder) || folders.contains(-1) }.map(
          \.handle)
      }
      for handle in handlers { handle() }
    }
  }
#endif
