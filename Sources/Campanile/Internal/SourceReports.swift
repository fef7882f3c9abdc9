import Synchronization

private let sourceNumbers = Atomic<UInt64>(0)

/// What a source reports about itself: its events, and what its observers throw.
///
/// Made when somebody first asks for one of the two. Both are sources with a registry of their own.
final class SourceReports: Sendable {
  let events: Broadcaster<SourceEvent>
  let failures = Broadcaster<ObserverFailure>()
  /// What events call the source: no other source of the process has it.
  let number = sourceNumbers.wrappingAdd(1, ordering: .relaxed).newValue
  /// How many ask for the values that are posted.
  private let valueWishes = Atomic<Int>(0)

  init(of registry: ObserverRegistry) {
    events = Broadcaster(
      registry: ObserverRegistry(), home: .events(ObserverList.Unowned(object: registry)))
  }

  /// Whether events have the values that are posted.
  var describesValues: Bool { valueWishes.load(ordering: .relaxed) > 0 }

  func wishForValues(_ change: Int) { valueWishes.wrappingAdd(change, ordering: .relaxed) }

  /// Observes the failures for as long as the source lives.
  func observeFailures(_ observer: @escaping @Sendable (ObserverFailure) -> Void) {
    let location = SourceLocation(file: #fileID, line: #line)
    failures.registerRarely(ObservationRequest(.unbounded, location), ObserverBody(observer))
  }

  /// Ends every observation of the two.
  func finish() {
    events.finish()
    failures.finishRarely()
  }
}

/// What is done so rarely that the code for values of any type is fast enough: for failures alone all of
/// the engine would be compiled once more.
extension Broadcaster {
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  func sendRarely(_ value: Element) { send(value) }

  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  fileprivate func registerRarely(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Element>
  ) {
    _ = register(request, body, SourceOptions())
  }

  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  fileprivate func finishRarely() { finish() }
}

extension Broadcaster {
  /// Whether anybody observes who would be called now: an owner may have died, or a pause be on.
  var hasListeners: Bool { registrations.contains { !$0.isPaused } }
}

/// A source whose events have the values that are posted, on request.
package protocol ValueDescribing {
  /// What has the values described for as long as it is kept.
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

/// A value that has a name which says more than its type.
package protocol EventNaming {
  /// What events call the value.
  var eventName: String { get }
}

extension MessageCenter {
  /// What happens at this center, to be observed like any other source.
  ///
  /// ```swift
  /// self.token = MessageCenter.default.events.observe { event in trace.record(event) }
  /// ```
  ///
  /// Any number of observers can observe the events, at any time, from any thread and from inside an
  /// observer. Observations that exist already are reported too. An event is sent where it happens,
  /// under no lock. A post in progress when somebody begins or ends to observe may be reported in
  /// part. An observer of the events that uses the center causes further events, and receives them.
  ///
  /// While nobody observes the events, a post pays one load and one branch for them, also after
  /// somebody did. The center's ``registrations`` don't list the observers of its events. The
  /// center's release ends their observations; ``finish()`` doesn't. What such an observer throws
  /// goes to standard error.
  public var events: Signal<SourceEvent> { registry.reports.events.signal }

  /// What the observers of this center throw, to be observed like any other source.
  ///
  /// ```swift
  /// self.token = MessageCenter.default.failures.observe { failure in log(failure.description) }
  /// ```
  ///
  /// Any number of observers can observe the failures, at any time, from any thread and from inside
  /// an observer. A failure is sent on the thread that threw, under no lock. While nobody observes
  /// the failures, or all who do are paused, each failure is a line on standard error.
  ///
  /// The center's ``registrations`` don't list the observers of its failures. The center's release
  /// ends their observations; ``finish()`` doesn't. What such an observer throws goes to standard
  /// error.
  public var failures: Signal<ObserverFailure> { registry.reports.failures.signal }
}

extension Broadcaster {
  /// What happens at this broadcaster, to be observed at any time; see ``MessageCenter/events``.
  public var events: Signal<SourceEvent> { registry.reports.events.signal }

  /// What the observers of this broadcaster throw, to be observed at any time; see
  /// ``MessageCenter/failures``.
  public var failures: Signal<ObserverFailure> { registry.reports.failures.signal }
}

extension CurrentValue {
  /// What happens at this state, to be observed at any time; see ``MessageCenter/events``.
  ///
  /// A set whose change waits for the thread that notifies is reported when that thread posts it.
  public var events: Signal<SourceEvent> { registry.reports.events.signal }

  /// What the observers of this state throw, to be observed at any time; see
  /// ``MessageCenter/failures``.
  public var failures: Signal<ObserverFailure> { registry.reports.failures.signal }
}
