#if Page
  import Campanile
  import FlyingSocks

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #else
    import Darwin
  #endif

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Accepts a bounded number of connections on this computer, and answers one request of each.
  final class PageServer: Sendable {
    let access: PageAccess
    let limits: PageLimits
    private let trace: Trace
    /// The feeds of all browsers that search for nothing.
    private let feeds: [PageFeed]
    private let listener: AsyncSocket
    private let pool: any AsyncSocketPool
    /// The number of browsers that are shown the page.
    private let streamCount = Locked(0)

    init(port: UInt16, trace: Trace, limits: PageLimits) async throws {
      do {
        pool = try await PagePool.shared.prepared()
        let bound: UInt16
        (listener, bound) = try Self.listen(to: .inet(ip4: "127.0.0.1", port: port), pool)
        access = PageAccess(port: bound)
      } catch {
        throw InspectorError(
          code: .portUnavailable, message: "Port \(port) cannot be listened on: \(error)")
      }
      (self.limits, self.trace) = (limits, trace)
      feeds = Self.feeds(PageRows(trace), limits)
    }

    private static func feeds(_ rows: PageRows, _ limits: PageLimits) -> [PageFeed] {
      rows.sections.map {
        let rest = $0.name == "posts" ? limits.rest / 6 : limits.rest
        return PageFeed($0.name, interval: limits.interval, rest: rest, $0.make)
      }
    }

    /// Opens a socket and returns it with its port.
    private static func listen<Address: SocketAddress>(
      to address: Address, _ pool: any AsyncSocketPool
    ) throws -> (AsyncSocket, UInt16) {
      let socket = try Socket(domain: Int32(Address.family), type: .stream)
      do {
        socket.closeInOtherPrograms()
        try socket.setValue(true, for: .localAddressReuse)
        #if canImport(Darwin)
          // Accepted sockets inherit it: a write to a browser that has left must not end the program.
          try socket.setValue(true, for: .noSIGPIPE)
        #endif
        try socket.bind(to: address)
        try socket.listen()
        guard case .ip4(_, let port) = try socket.sockname() else {
          throw SocketError.unsupportedAddress
        }
        return (try AsyncSocket(socket: socket, pool: pool), port)
      } catch {
        try? socket.close()
        throw error
      }
    }

    /// Serves until the task is canceled.
    func run() async {
      await accept()
      await close(listener)
    }

    /// Closes a socket once the pool does not know it any more.
    ///
    /// The pool wakes a reader before it forgets the socket, in one job of its actor. If the socket is
    /// closed in between, it forgets nothing, and does not wait for a later socket of the same number.
    private func close(_ socket: AsyncSocket) async {
      if let pool = pool as? any Actor { await passThrough(pool) }
      try? socket.close()
    }

    private func passThrough(_ pool: isolated any Actor) {}

    private func accept() async {
      await withTaskGroup(of: Void.self) { group in
        var count = 0
        while !Task.isCancelled {
          if count == limits.connections {
            await group.next()
            count -= 1
          }
          let socket: AsyncSocket
          do {
            socket = try await listener.accept()
          } catch is SocketError {
            // The client closed the connection, or this program has too many open files.
            try? await Task.sleep(for: .milliseconds(20))
            continue
          } catch {
            // The task was canceled, or the pool has ended.
            break
          }
          socket.socket.closeInOtherPrograms()
          count += 1
          group.addTask {
            try? await self.answer(socket)
            await self.close(socket)
          }
        }
      }
    }

    private func answer(_ socket: AsyncSocket) async throws {
      let answer: PageAccess.Answer
      do {
        let request = try await within(limits.patience) { [limits] in
          try await PageRequest.read(atMost: limits.headerBytes) {
            try await socket.read(atMost: $0)
          }
        }
        answer = access.answer(to: request)
      } catch let status as PageStatus {
        answer = .refusal(status)
      }
      switch answer {
      case .document:
        try await write(PageResponse.document(), to: socket)
      case .refusal(let status):
        try await write(PageResponse.refusal(status), to: socket)
        try await readRest(of: socket)
      case .events(let search):
        guard beginStream() else {
          return try await write(PageResponse.refusal(.busy), to: socket)
        }
        defer { endStream() }
        try await stream(to: socket, search)
      }
    }

    /// Reads and discards the rest of a refused request, up to some megabytes.
    ///
    /// If a connection is closed with unread bytes, the client does not receive the response.
    private func readRest(of socket: AsyncSocket) async throws {
      shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
      try await within(limits.patience) { [limits] in
        var rest = limits.refusedBytes
        while rest > 0 { rest -= try await socket.read(atMost: rest).count }
      }
    }

    private func beginStream() -> Bool {
      streamCount.withLock { count in
        if count == limits.streams { return false }
        count += 1
        return true
      }
    }

    private func endStream() { streamCount.withLock { $0 -= 1 } }

    /// Sends updates until the browser closes the connection.
    private func stream(to socket: AsyncSocket, _ search: String) async throws {
      try await write(PageResponse.stream, to: socket)
      try await withThrowingTaskGroup { group in
        // A browser sends nothing more, so a read returns at the end of the connection.
        group.addTask { _ = try await socket.read(atMost: 1) }
        group.addTask { try await self.sendNews(to: socket, search) }
        defer { group.cancelAll() }
        try await group.next()
      }
    }

    private func sendNews(to socket: AsyncSocket, _ search: String) async throws {
      let search = URLComponents(string: search)?.queryItems?.first?.value ?? ""
      let feeds = search.isEmpty ? feeds : Self.feeds(PageRows(trace, search: search), limits)
      var sent = PageNews()
      var quiet = 0
      while true {
        var news = ""
        for feed in feeds { news += sent.take(await feed.sections()) }
        quiet = news.isEmpty ? quiet + 1 : 0
        if !news.isEmpty {
          try await write(Data(news.utf8), to: socket)
        } else if quiet == limits.quietIntervals {
          // Fails if the connection is broken.
          try await write(Data(":\n\n".utf8), to: socket)
          quiet = 0
        }
        try await Task.sleep(for: limits.interval)
      }
    }

    private func write(_ data: Data, to socket: AsyncSocket) async throws {
      try await within(limits.patience) { try await socket.write(data) }
    }
  }

  /// The pool of all pages, which waits until their sockets are ready.
  ///
  /// It is prepared by the first page, and never ends: a pool of FlyingSocks that ends leaves a
  /// descriptor open. Its other kind of pool, which has none, looks at the sockets a hundred times a
  /// second. While no page is served, nothing runs.
  private actor PagePool {
    static let shared = PagePool()
    private var making: Task<any AsyncSocketPool, any Error>?

    func prepared() async throws -> any AsyncSocketPool {
      let task =
        making
        ?? Task.detached(priority: .utility) {
          let pool = SocketPool<Poll>.make()
          try await pool.prepare()
          Task.detached(priority: .utility) {
            try? await pool.run()
            await self.forget()
          }
          return pool
        }
      making = task
      do {
        return try await task.value
      } catch {
        // The next page tries again.
        if making == task { making = nil }
        throw error
      }
    }

    /// The pool has ended, which the system can cause.
    ///
    /// The next page makes another one.
    private func forget() { making = nil }
  }

  extension Socket {
    /// Keeps child processes from inheriting the descriptor.
    fileprivate func closeInOtherPrograms() { _ = fcntl(file.rawValue, F_SETFD, FD_CLOEXEC) }
  }

  /// Runs an operation with a time limit.
  ///
  /// Throws when the limit is over.
  private func within<Result: Sendable>(
    _ limit: Duration, _ operation: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await withThrowingTaskGroup { group in
      group.addTask { Optional(try await operation()) }
      group.addTask {
        try await Task.sleep(for: limit)
        return nil
      }
      defer { group.cancelAll() }
      guard let result = try await group.next() ?? nil else { throw CancellationError() }
      return result
    }
  }
#endif
