extension MessageCenter: Traceable, CustomStringConvertible, CustomReflectable {
  /// A view of the events and the observers of the center.
  public var inspection: SourceInspection {
    SourceInspection(self, named: label.isEmpty ? "MessageCenter" : "MessageCenter \(label)")
  }

  /// Reports the errors that observers of this center throw, as a source that you can observe.
  ///
  /// ```swift
  /// self.token = MessageCenter.default.failures.observe { failure in log(failure.description) }
  /// ```
  ///
  /// A failure is sent on the thread that threw. While the failures have no observers, or all of them
  /// are paused, each failure is written to standard error as one line. In all else the observers are
  /// like those of ``Traceable/events``.
  public var failures: Signal<ObserverFailure> { registry.failures }
}

extension MessageCenter: InspectedSource {
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    topics.parts(held) + wildcard.parts(held)
  }

  /// The step through this center.
  package var pathStep: PathStep { registry.reports.pathStep }
}
