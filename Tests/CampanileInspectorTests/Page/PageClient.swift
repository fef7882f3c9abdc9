#if Page
  import FlyingSocks
  import Testing
  import TestSupport

  @testable import CampanileInspector

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  extension PageLimits {
    /// The usual limits, but on a busy machine nobody is cut off for being slow.
    static let patient = PageLimits(patience: TestSupport.patience)
  }

  /// What a server sent on one connection, up to its end.
  struct Answer {
    let text: String

    var status: Int? { text.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
    var isStream: Bool { text.contains("\r\n\r\n") && head.contains("text/event-stream") }
    /// The header, without the empty line that ends it.
    var head: String {
      text.firstRange(of: "\r\n\r\n").map { String(text[..<$0.lowerBound]) } ?? text
    }
    var body: String {
      text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? ""
    }
  }

  /// The pool of all clients, which is prepared once.
  ///
  /// FlyingSocks prepares its own pool twice if two clients are the first at the same time.
  private let clientPool = Task { () async throws -> SocketPool<Poll> in
    let pool = SocketPool(queue: Poll(interval: .seconds(0.01)))
    try await pool.prepare()
    Task { try? await pool.run() }
    return pool
  }

  private struct Silence: Error, CustomStringConvertible {
    let description = "The page does not read, send, or end the connection"
  }

  /// A connection to a page, made by hand.
  struct PageClient {
    private let socket: AsyncSocket

    init(port: UInt16) async throws {
      let address = try sockaddr(port)
      socket = try await AsyncSocket.connected(
        to: address, pool: clientPool.value, timeout: TimeInterval(patience / .seconds(1)))
    }

    init(_ page: InspectorPage) async throws { try await self.init(port: page.port) }

    func send(_ text: String) async throws { try await send(bytes: Array(text.utf8)) }

    func send(bytes: [UInt8]) async throws {
      try await limited { try await socket.write(Data(bytes)) }
    }

    /// Some of what the server has sent; `nil` at the end of the connection.
    func read() async throws -> [UInt8]? {
      do {
        return try await limited { try await socket.read(atMost: 4_096) }
      } catch let silence as Silence {
        throw silence
      } catch {
        return nil
      }
    }

    /// Throws if the server lets the client wait for longer than `patience`.
    private func limited<Result: Sendable>(
      _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
      let task = Task { try await operation() }
      let timer = Task {
        try await Task.sleep(for: patience)
        task.cancel()
      }
      defer { timer.cancel() }
      do {
        return try await task.value
      } catch {
        throw task.isCancelled ? Silence() : error
      }
    }

    /// What the server sends, up to the end of the connection; of a stream only the beginning.
    func readToEnd() async throws -> Answer {
      var bytes: [UInt8] = []
      var answer = Answer(text: "")
      while !answer.isStream, let more = try await read() {
        bytes += more
        answer = Answer(text: String(decoding: bytes, as: UTF8.self))
      }
      return answer
    }

    func close() { try? socket.close() }

    /// The answer to a request.
    static func ask(_ page: InspectorPage, _ text: String) async throws -> Answer {
      let client = try await PageClient(page)
      defer { client.close() }
      // A server that has heard enough reads no more.
      try? await client.send(text)
      return try await client.readToEnd()
    }
  }

  extension InspectorPage {
    var port: UInt16 { UInt16(url.split(separator: ":")[2].prefix { $0 != "/" }) ?? 0 }
    var secret: String { String(url.split(separator: "/")[2]) }

    /// A request that a browser sends for a part of the page.
    func request(_ path: String = "") -> String {
      "GET /\(secret)/\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
    }
  }

  /// The events of a page, as they come.
  final class PageEvents {
    let client: PageClient
    private var text = ""
    /// What came while other rows were waited for: of each part the last, as a page shows it.
    private var unread: [String: Data] = [:]

    /// Opens the stream; `nil` if it is refused.
    init?(_ page: InspectorPage, _ query: String = "") async throws {
      client = try await PageClient(page)
      try await client.send(page.request("events\(query)"))
      while !text.contains("\r\n\r\n") {
        guard let bytes = try await client.read() else { return nil }
        text += String(decoding: bytes, as: UTF8.self)
      }
      guard text.hasPrefix("HTTP/1.1 200 OK\r\n"), let end = text.firstRange(of: "\r\n\r\n") else {
        return nil
      }
      text = String(text[end.upperBound...])
    }

    deinit { client.close() }

    /// The next event, or a comment with no name; `nil` at the end of the stream.
    func next() async throws -> (name: String, json: Data)? {
      while true {
        if let end = text.firstRange(of: "\n\n") {
          let lines = text[..<end.lowerBound].split(separator: "\n")
          text = String(text[end.upperBound...])
          func field(_ name: String) -> Substring? {
            lines.first { $0.hasPrefix(name) }?.dropFirst(name.count)
          }
          return (String(field("event: ") ?? ""), Data((field("data: ") ?? "").utf8))
        }
        guard let bytes = try await client.read() else { return nil }
        text += String(decoding: bytes, as: UTF8.self)
      }
    }

    /// Reads until the rows of a part are as they should be.
    ///
    /// The parts come in any order.
    func rows<Row: Decodable>(
      _ name: String, of type: Row.Type, until isRight: ([Row]) -> Bool
    ) async throws -> [Row] {
      try await answer {
        if let json = unread.removeValue(forKey: name) {
          let rows = try JSONDecoder().decode(ShownTable<Row>.self, from: json).rows
          if isRight(rows) { return rows }
        }
        let event = try #require(try await next(), "The stream ended before \(name) were right")
        unread[event.name] = event.json
        return nil
      }
    }

    /// Reads the rest of the stream.
    func expectEnd() async throws { try await answer { try await next() == nil ? () : nil } }
  }

  /// What the page's script reads of a table.
  struct ShownTable<Row: Decodable>: Decodable {
    let rows: [Row]
    let leftOut: Int
  }

  struct TypeRow: Decodable {
    let source, type: String
    let sourceNumber: UInt64
    let posts, calls, dropped, skipped, failed: Int
  }

  struct ObserverRow: Decodable {
    let place, owner, delivery: String
    let calls: Int
  }

  struct StuckRow: Decodable {
    let place, thread: String
    let age, behind: Int
  }

  private func sockaddr(_ port: UInt16) throws -> some SocketAddress {
    try address(.inet(ip4: "127.0.0.1", port: port))
  }

  private func address<Address: SocketAddress>(_ address: Address) -> Address { address }
#endif
