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
    /// Starts to follow sources.
    ///
    /// Needs the trait `Page`.
    public init(
      of sources: any Traceable..., last capacity: Int = 10_000, values: Bool = false
    ) {}

    /// Serves the page.
    ///
    /// Needs the trait `Page`.
    public func serve(port: UInt16 = 0) async throws -> InspectorPage { InspectorPage() }
  }

  /// A page that an inspector serves.
  ///
  /// Needs the trait `Page`.
  @available(*, unavailable, message: "the trait Page is off")
  public final class InspectorPage: Sendable {}
#endif
