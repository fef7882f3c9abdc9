/// A source whose events have the values that are posted, on request.
package protocol ValueDescribing {
  /// An object that has the values described for as long as it is kept.
  var valueWish: ValueWish { get }
}

/// The wish to have the posted values of a source described; it ends when it is released.
package final class ValueWish: Sendable {
  private weak let reports: SourceReports?

  init(_ registry: ObserverRegistry) {
    reports = registry.reports
    registry.reports.wishForValues(1)
  }

  deinit { reports?.wishForValues(-1) }
}
