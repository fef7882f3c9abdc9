#if Page
  public import Campanile

  /// Shows live in a browser what happens at sources.
  ///
  /// ```swift
  /// let inspector = Inspector(of: center)
  /// let page = try await inspector.serve()
  /// print(page)  // the address, with its secret
  /// ```
  ///
  /// Needs the trait `Page` of the package; see <doc:CampanileInspector>.
  ///
  /// The page shows the live registrations, the numbers of posts and calls, the observers that are
  /// slow or hang, what was dropped, who posts to whom, and the last posts as trees of cause and
  /// effect. It needs no network and loads nothing else. It cannot post or change anything.
  ///
  /// An inspector creates a ``Trace``, with the cost of a trace. The trace ends when the inspector
  /// and its pages are released. The page itself computes nothing while no browser shows it.
  public final class Inspector: Sendable {
    /// The trace that the page shows.
    public let trace: Trace

    /// Starts to follow sources.
    ///
    /// - Parameters:
    ///   - sources: Message centers, broadcasters, current values, notification sources of
    ///     Foundation's centers, changes of key paths, and the requests that a relay answers.
    ///   - capacity: How many events are kept. The last posts are taken from these. Counts and
    ///     times include all events.
    ///   - values: Whether posted values are described, by `String(describing:)` on the posting
    ///     thread.
    public init(
      of sources: any Traceable..., last capacity: Int = 10_000, values: Bool = false
    ) {
      trace = Trace(last: capacity, values: values)
      for source in sources { trace.add(source) }
    }

    /// Serves the page on this computer, until the result is stopped or released.
    ///
    /// The page is served on 127.0.0.1 only. Its address contains a secret of 128 random bits, and
    /// only those who know the address can open it. A second call serves a second page with another
    /// address.
    ///
    /// - Parameter port: The port; 0 lets the system choose a free one.
    /// - Throws: ``InspectorError`` if the port cannot be used.
    public func serve(port: UInt16 = 0) async throws -> InspectorPage {
      try await serve(port: port, PageLimits())
    }

    func serve(port: UInt16 = 0, _ limits: PageLimits) async throws -> InspectorPage {
      InspectorPage(try await PageServer(port: port, trace: trace, limits: limits))
    }
  }

  /// A page that an ``Inspector`` serves.
  ///
  /// Releasing it stops it, as ``stop()`` does. It keeps the trace that it shows.
  public final class InspectorPage: Sendable, CustomStringConvertible {
    /// The address with the secret.
    ///
    /// Open it in a browser on this computer.
    public let url: String
    let server: PageServer
    private let task: Task<Void, Never>

    init(_ server: PageServer) {
      self.server = server
      url = server.access.url
      // Detached, so that the server does not inherit the caller's task-local values.
      task = Task.detached(priority: .utility) { await server.run() }
    }

    deinit { task.cancel() }

    /// Ends the page.
    ///
    /// When this returns, its connections are closed and the port is free.
    ///
    /// A second call only waits for the first.
    public func stop() async {
      task.cancel()
      await task.value
    }

    /// The address with the secret.
    public var description: String { url }
  }

  /// The error that is thrown if a page cannot be served.
  public struct InspectorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public struct Code: Hashable, Sendable {
      private enum Kind { case portUnavailable }
      private let kind: Kind
      /// The port cannot be opened: it is in use, or not allowed.
      public static let portUnavailable = Code(kind: .portUnavailable)
    }

    /// The kind of error.
    public let code: Code
    /// A sentence that says what is wrong.
    public let message: String

    /// The message.
    public var description: String { message }

    /// Whether two errors have the same code.
    public static func == (one: Self, other: Self) -> Bool { one.code == other.code }
    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
  }
#endif
