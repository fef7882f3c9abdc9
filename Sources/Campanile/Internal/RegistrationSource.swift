/// Access to the source of a registration, for sources in other modules that have no name.
///
/// For instance, the evaluation of a key path is found through its observers.
extension Registration {
  /// Reports what happens at the source.
  package var sourceEvents: Signal<SourceEvent> { list.registry.reports.events.signal }

  /// The live observations of the source, oldest first.
  package var sourceRegistrations: [RegistrationDescription] {
    list.registry.describe([list])
  }

  /// An object that has the posted values described for as long as it is kept.
  package var sourceValueWish: ValueWish { ValueWish(list.registry) }
}
