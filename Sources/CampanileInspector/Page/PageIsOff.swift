#if !Page
  public import Campanile

  /// Shows in a browser what happens at sources; needs the trait `Page`.
  @available(
    *, unavailable,
    message: "the trait Page is off: write .package(url: …, from: …, traits: [.defaults, \"Page\"])"
  )
  public final class Inspector: Sendable {
    /// What the page shows is read from this trace; needs the trait `Page`.
    public let trace = Trace()

    /// Begins to follow sources; needs the trait `Page`.
    public init(
      of sources: any Traceable..., last capacity: Int = 10_000, values: Bool = false
    ) {}

    /// Serves the page; needs the trait `Page`.
    public func serve(port: UInt16 = 0) async throws -> InspectorPage {
      preconditionFailure("The trait Page is off, so that there is no page")
    }
  }

  /// A page could not be served; needs the trait `Page`.
  @available(
    *, unavailable,
    message: "the trait Page is off: write .package(url: …, from: …, traits: [.defaults, \"Page\"])"
  )
  public struct InspectorError: Error, Hashable {}

  /// A page that an inspector serves; needs the trait `Page`.
  @available(
    *, unavailable,
    message: "the trait Page is off: write .package(url: …, from: …, traits: [.defaults, \"Page\"])"
  )
  public final class InspectorPage: Sendable {
    /// The address with the secret; needs the trait `Page`.
    public var url: String { "" }

    /// Ends the page; needs the trait `Page`.
    public func stop() async {}
  }
#endif
