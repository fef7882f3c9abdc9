/// A source that can be inspected: its events and its observers.
///
/// Message centers, broadcasters, current values, notification sources of Foundation's centers and
/// changes of key paths are such sources. A `Trace` of the module CampanileInspector records their
/// events. A source of your own passes on the ``inspection`` of the source that it is made of, such as
/// `keys.inspection.named("keyboard")`.
public protocol Traceable: Sendable {
  /// A view of the events and the observers of the source.
  var inspection: SourceInspection { get }
}

extension Traceable {
  /// Reports each post, call and registration of this source, as a source that you can observe.
  ///
  /// ```swift
  /// self.token = MessageCenter.default.events.observe { event in trace.record(event) }
  /// ```
  ///
  /// Any number of observers can observe the events, at any time, from any thread and from inside an
  /// observer. Events of observations that exist already are reported, too. An event is sent where it
  /// happens, while no lock is held. If observing begins or ends during a post, that post may be reported in
  /// part. An observer of the events that uses the source causes further events, and receives them.
  ///
  /// A set of a current value during a notification is reported at once, on the setting thread, with
  /// `posted` and `postReturned`. The followers are called later, and those events have the same
  /// post number.
  ///
  /// While the events have no observer, they cost a post one load and one branch, even if they were
  /// observed before. The source's ``registrations`` don't list the observers of its events, and its
  /// `finish()` doesn't end their observations, but its release does. An error that such an observer
  /// throws is written to standard error as one line.
  public var events: Signal<SourceEvent> { inspection.source.registry.events }

  /// The live observations, oldest first, for debugging.
  ///
  /// - Complexity: O(*n* log *n*).
  public var registrations: [RegistrationDescription] {
    inspection.source.registry.describe(inspection.source.parts)
  }

  /// The number of observations that have not ended.
  ///
  /// Observations of an owner that has died do not count.
  ///
  /// - Complexity: O(*n*) in the observations: each owner is checked.
  public var observerCount: Int {
    inspection.source.registry.count(inspection.source.parts)
  }
}

extension Traceable where Self: AnyObject {
  /// The name of the source and its live observations, one per line.
  ///
  /// Of more than 150 observations, those that are alike share a line with their number, and the most
  /// frequent 150 lines are shown. Use ``Traceable/registrations`` for all of them.
  public var description: String { inspection.listing }

  /// Empty, so that a debugger shows the description alone.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A view of the events and the observers of a source; it may keep the source alive.
public struct SourceInspection: Traceable {
  fileprivate let source: any InspectedSource
  /// The name of the source in traces.
  package let name: String

  init(_ source: any InspectedSource, named name: String) {
    (self.source, self.name) = (source, name)
  }

  /// The inspection itself.
  public var inspection: SourceInspection { self }

  /// Returns the inspection of the same source under another name in traces.
  public func named(_ name: String) -> SourceInspection { SourceInspection(source, named: name) }

  /// A closure that reads the live observations without keeping the source alive, with one
  /// description for all that differ in numbers alone.
  package var groupsReader: @Sendable () -> [RegistrationDescription] {
    { [weak source] in source.map { $0.registry.groups($0.parts) } ?? [] }
  }

  /// An object that has the posted values described for as long as it is kept.
  package var valueWish: ValueWish { ValueWish(source.registry) }

  /// The live observations under the name, as text.
  package var listing: String { source.registry.listing(under: name, source.parts) }
}

/// Access to the source of a registration, for sources in other modules that have no name.
///
/// For instance, the evaluation of a key path is found through its observers.
extension Registration {
  /// Shows the source.
  package func inspection(named name: String) -> SourceInspection {
    SourceInspection(list, named: name)
  }

  /// The number of deliveries that wait for the observer, in its own buffer and at its shared place.
  package var backlog: Int {
    let shared = list.registry.withState { _, _ in (list as? GroupList)?.targetGroup?.mailbox }
    return waitingCount + (shared?.waitingCount ?? 0)
  }
}
