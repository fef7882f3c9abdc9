extension MessageCenter {
  /// Reports each post, call and registration of this center, as a source that you can observe.
  ///
  /// ```swift
  /// self.token = MessageCenter.default.events.observe { event in trace.record(event) }
  /// ```
  ///
  /// Any number of observers can observe the events, at any time, from any thread and from inside
  /// an observer, including the events of observations that exist already. An event is sent where
  /// it happens, while no lock is held. If observing begins or ends during a post, that post may be
  /// reported in part. An observer of the events that uses the center causes further events, and
  /// receives them.
  ///
  /// While the events have no observer, they cost a post one load and one branch, even if they were
  /// observed before. The center's ``registrations`` don't list the observers of its events, and
  /// ``finish()`` doesn't end their observations, but the release of the center does. An error that
  /// such an observer throws is written to standard error as one line.
  public var events: Signal<SourceEvent> { registry.events }

  /// Reports the errors that observers of this center throw, as a source that you can observe.
  ///
  /// ```swift
  /// self.token = MessageCenter.default.failures.observe { failure in log(failure.description) }
  /// ```
  ///
  /// Any number of observers can observe the failures, at any time, from any thread and from inside
  /// an observer. A failure is sent on the thread that threw, while no lock is held. While the
  /// failures have no observers, or all of them are paused, each failure is written to standard
  /// error as one line.
  ///
  /// The center's ``registrations`` don't list the observers of its failures, and ``finish()``
  /// doesn't end their observations, but the release of the center does. An error that such an
  /// observer throws is written to standard error.
  public var failures: Signal<ObserverFailure> { registry.failures }
}

extension MessageCenter: Traceable {
  /// `MessageCenter`, followed by the center's label if it has one.
  public var traceName: String { label.isEmpty ? "MessageCenter" : "MessageCenter \(label)" }
}

extension MessageCenter: RegistrationGrouping {
  package var registrationGroups: [RegistrationDescription] {
    registry.groups { topics.lists($0) + [wide] }
  }
}

extension MessageCenter: ValueDescribing {
  package var valueWish: ValueWish { ValueWish(registry) }
}

extension MessageCenter {
  /// The step through this center.
  package var pathStep: PathStep { registry.reports.pathStep }
}
