extension MessageCenter: Traceable, CustomStringConvertible, CustomReflectable {
  /// A view of the events and the observers of the center.
  public var inspection: SourceInspection {
    SourceInspection(self, named: label.isEmpty ? "MessageCenter" : "MessageCenter \(label)")
  }
}

extension MessageCenter: InspectedSource {
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    topics.parts(held) + wildcard.parts(held)
  }

  /// The step through this center.
  package var pathStep: PathStep { registry.reports.pathStep }
}
