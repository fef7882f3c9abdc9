#if Page
  public import Campanile

  /// Shows in a browser what happens at sources, while it happens.
  ///
  /// ```swift
  /// let inspector = Inspector(of: center)
  /// let page = try await inspector.serve()
  /// print(page)  // the address, with its secret
  /// ```
  ///
  /// Needs the trait `Page` of the package:
  ///
  /// ```
  /// .package(url: …, from: …, traits: [.defaults, "Page"])
  /// ```
  ///
  /// If another of your dependencies asks for Campanile without the trait, SwiftPM 6.3 may fail with
  /// "exhausted attempts to resolve the dependencies graph". Name what the page needs, too:
  ///
  /// ```
  /// .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.27.1")
  /// ```
  ///
  /// The page has the live registrations, how much is posted and called, the slow observers and what
  /// was dropped. It has the last posts as trees of cause and effect. It needs no network and loads
  /// nothing else. Nothing can be posted or changed through it.
  ///
  /// An inspector has a ``Trace``, which begins with it, costs what a trace costs, and ends when the
  /// inspector and its pages are released. For the page itself nothing is computed while no browser
  /// shows it.
  public final class Inspector: Sendable {
    /// What the page shows is read from this trace.
    public let trace: Trace

    /// Begins to follow sources.
    ///
    /// - Parameters:
    ///   - sources: Message centers, broadcasters and current values.
    ///   - capacity: How many events are kept, from which the last posts are shown. Counts and times
    ///     are those of all events.
    ///   - values: Whether what is posted is described, by `String(describing:)` on the thread that
    ///     posts.
    public init(
      of sources: any Traceable..., last capacity: Int = 10_000, values: Bool = false
    ) {
      trace = Trace(last: capacity, values: values)
      for source in sources { trace.add(source) }
    }

    /// Serves the page on this computer, until the result is stopped or released.
    ///
    /// The page can be reached at 127.0.0.1 alone, and only by whoever knows its address, which has
    /// a secret of 128 random bits. A second call serves a second page with another address.
    ///
    /// - Parameter port: The port; 0 lets the system choose one that is free.
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
    /// The address with the secret, to be opened in a browser on this computer.
    public let url: String
    let server: PageServer
    private let task: Task<Void, Never>

    init(_ server: PageServer) {
      self.server = server
      url = server.access.url
      // What the caller's task carries is not for the server.
      task = Task.detached(priority: .utility) { await server.run() }
    }

    deinit { task.cancel() }

    /// Ends the page: connections are closed, and when this returns, the port is free.
    ///
    /// A second call does nothing but wait for the first.
    public func stop() async {
      task.cancel()
      await task.value
    }

    /// The address with the secret.
    public var description: String { url }
  }

  /// A page could not be served.
  public struct InspectorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Hashable, Sendable {
      private enum Kind { case portUnavailable }
      private let kind: Kind
      /// The port cannot be listened on: it is in use, or not allowed.
      public static let portUnavailable = Code(kind: .portUnavailable)
    }

    /// What went wrong.
    public let code: Code
    /// What went wrong, in a sentence.
    public let message: String

    /// The sentence.
    public var description: String { message }

    /// Whether two errors have the same code.
    public static func == (one: Self, other: Self) -> Bool { one.code == other.code }
    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
  }
#endif
