/// The wish to have the posted values of a source described; it ends when it is released.
package final class ValueWish: Sendable {
  private weak let reports: SourceReports?

  init(_ registry: ObserverRegistry) {
    reports = registry.reports
    registry.reports.wishForValues(1)
  }

  deinit { reports?.wishForValues(-1) }
}
