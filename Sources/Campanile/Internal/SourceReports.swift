import Synchronization

private let sourceNumbers = Atomic<UInt64>(0)

/// The reports of a source: its events, and the errors of its observers.
///
/// They are created at the first use. Both are sources with their own registries.
final class SourceReports: Sendable {
  let events: Broadcaster<SourceEvent>
  let failures = Broadcaster<ObserverFailure>()
  /// The number of the source in events, which is unique in the process.
  let number = sourceNumbers.wrappingAdd(1, ordering: .relaxed).newValue
  /// The step through the source, if it is a message center.
  let pathStep = PathStep(number: .random(in: 0 ... .max))
  /// How many callers ask for descriptions of the posted values.
  private let valueWishes = Atomic<Int>(0)

  init(of registry: ObserverRegistry) {
    let own = ObserverRegistry()
    events = Broadcaster(registry: own, list: EventList(registry: own, of: registry))
  }

  /// Whether events have the values that are posted.
  var describesValues: Bool { valueWishes.load(ordering: .relaxed) > 0 }

  func wishForValues(_ change: Int) { valueWishes.wrappingAdd(change, ordering: .relaxed) }

  /// Observes the failures for as long as the source lives.
  func observeFailures(_ observer: @escaping @Sendable (ObserverFailure) -> Void) {
    let location = CallSite(file: #fileID, line: #line)
    _ = failures.register(
      ObservationRequest(.unbounded, location), ObserverBody(observer), SourceOptions())
  }

  /// Ends every observation of the two.
  func finish() {
    events.finish()
    failures.finish()
  }
}

extension Broadcaster {
  /// Whether an observer would be called now: one with a living owner and without a pause.
  var hasListeners: Bool { registrations.contains { !$0.isPaused } }
}

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

extension MessageCenter: ValueDescribing {
  package var valueWish: ValueWish { ValueWish(registry) }
}

extension Broadcaster: ValueDescribing {
  package var valueWish: ValueWish { ValueWish(registry) }
}

extension CurrentValue: ValueDescribing {
  package var valueWish: ValueWish { ValueWish(registry) }
}

/// A value with a name that says more than its type.
package protocol EventNaming {
  /// The name of the value in events.
  var eventName: String { get }
}

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
  public var events: Signal<SourceEvent> { registry.reports.events.signal }

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
  public var failures: Signal<ObserverFailure> { registry.reports.failures.signal }
}

extension Broadcaster {
  /// Reports each send, call and registration of this broadcaster; see ``MessageCenter/events``.
  public var events: Signal<SourceEvent> { registry.reports.events.signal }

  /// Reports the errors that observers of this broadcaster throw; see ``MessageCenter/failures``.
  public var failures: Signal<ObserverFailure> { registry.reports.failures.signal }
}

extension CurrentValue {
  /// Reports each set, call and registration of this state; see ``MessageCenter/events``.
  ///
  /// A set during a notification is reported at once, on the setting thread, with `posted` and
  /// `postReturned`. The followers are called later, and those events have the same post number.
  public var events: Signal<SourceEvent> { registry.reports.events.signal }

  /// Reports the errors that followers of this state throw; see ``MessageCenter/failures``.
  public var failures: Signal<ObserverFailure> { registry.reports.failures.signal }
}
