/// A source that can be inspected: its events and its observers.
///
/// A `Trace` of the module CampanileInspector records the events of such sources.
public protocol Traceable: Sendable {
  /// Reports each post, call and registration of the source.
  var events: Signal<SourceEvent> { get }
  /// The live observations, oldest first.
  var registrations: [RegistrationDescription] { get }
  /// The name of the source in a trace.
  var traceName: String { get }
  /// A closure that reads the live observations without keeping the source alive.
  ///
  /// It returns an empty array once the source has been released.
  var registrationsReader: @Sendable () -> [RegistrationDescription] { get }
}

extension Traceable where Self: AnyObject {
  /// A closure that reads the live observations for as long as the object lives.
  public var registrationsReader: @Sendable () -> [RegistrationDescription] {
    { [weak self] in self?.registrations ?? [] }
  }
}

/// Access to the source of a registration, for sources in other modules that have no name.
///
/// For instance, the evaluation of a key path is found through its observers.
extension Registration {
  /// Reports what happens at the source.
  package var sourceEvents: Signal<SourceEvent> { list.registry.events }

  /// The number of deliveries that wait for the observer, in its own buffer and at its shared place.
  package var backlog: Int {
    let target = list.registry.withState { _, _ in (list as? GroupList)?.targetGroup?.target }
    return waitingCount + (target?.mailbox.waitingCount ?? 0)
  }

  /// The live observations of the source, oldest first.
  package var sourceRegistrations: [RegistrationDescription] {
    list.registry.describe([list])
  }

  /// An object that has the posted values described for as long as it is kept.
  package var sourceValueWish: ValueWish { ValueWish(list.registry) }
}

/// A source that lists its registrations in groups, which is cheap for many of them.
package protocol RegistrationGrouping: AnyObject, Sendable {
  /// One description for all live registrations that differ in numbers alone.
  var registrationGroups: [RegistrationDescription] { get }
}

extension Traceable {
  /// A closure that reads the live observations without keeping the source alive, those that are
  /// alike as one if the source groups them.
  package var groupsReader: @Sendable () -> [RegistrationDescription] {
    guard let source = self as? any RegistrationGrouping else { return registrationsReader }
    return { [weak source] in source?.registrationGroups ?? [] }
  }
}
