/// What a registration knows of its source, for sources in other modules that have no name of their
/// own: the evaluation of a key path is found by who observes it.
extension Registration {
  /// What happens at the source.
  package var sourceEvents: Signal<SourceEvent> { list.registry.reports.events.signal }

  /// The live observations of the source, oldest first.
  package var sourceRegistrations: [RegistrationDescription] {
    list.registry.describe { _ in [list] }
  }

  /// What has the posted values described for as long as it is kept.
  package var sourceValueWish: ValueWish { ValueWish(list.registry) }
}
