#if !Page
  public import Campanile

  /// Shows live in a browser what happens at sources.
  ///
  /// Needs the trait `Page`.
  @available(
    *, unavailable,
    message: """
      the trait Page is off: write .package(url: …, branch: "main", \
      traits: [.defaults, "Page"])
      """
  )
  public final class Inspector: Sendable {
    /// The trace that the page shows.
    ///
    /// Needs the trait `Page`.
    public let trace = Trace()

    /// Starts to follow sources.
    ///
    /// Needs the trait `Page`.
    public init(
      of sources: any Traceable..., last capacity: Int = 10_000, values: Bool = false
    ) {}

    /// Serves the page.
    ///
    /// Needs the trait `Page`.
    public func serve(port: UInt16 = 0) async throws -> InspectorPage {
      fatalError("The trait Page is off, so that there is no page")
    }
  }

  /// The error that is thrown if a page cannot be served.
  ///
  /// Needs the trait `Page`.
  @available(
    *, unavailable,
    message: """
      the trait Page is off: write .package(url: …, branch: "main", \
      traits: [.defaults, "Page"])
      """
  )
  public struct InspectorError: Error, Hashable {}

  /// A page that an inspector serves.
  ///
  /// Needs the trait `Page`.
  @available(
    *, unavailable,
    message: """
      the trait Page is off: write .package(url: …, branch: "main", \
      traits: [.defaults, "Page"])
      """
  )
  public final class InspectorPage: Sendable {
    /// The address with the secret.
    ///
    /// Needs the trait `Page`.
    public var url: String { "" }

    /// Ends the page.
    ///
    /// Needs the trait `Page`.
    public func stop() async {}
  }
#endif
