import Synchronization

private let sourceNumbers = Atomic<UInt64>(0)

/// The observers of what a source reports: its events, and the errors of its observers.
///
/// Both lists have a registry of their own. They are made at the first use.
final class SourceReports: Sendable {
  let events: ObserverList
  let failures: ObserverList
  /// The number of the source in events, which is unique in the process.
  // No pair: a number is taken once, and orders nothing.
  let number = sourceNumbers.wrappingAdd(1, ordering: .relaxed).newValue
  /// The step through the source, if it is a message center.
  let pathStep = PathStep(number: .random(in: 0 ... .max))
  /// How many callers ask for descriptions of the posted values.
  private let valueWishes = Atomic<Int>(0)

  /// - Parameters:
  ///   - events: The type of the events.
  ///   - failures: The type of the failures.
  init(of registry: ObserverRegistry, events: any Any.Type, failures: any Any.Type) {
    self.events = EventList(of: registry, valueType: events)
    self.failures = ObserverList(registry: ObserverRegistry(), valueType: failures)
  }

  deinit { finish() }

  /// Ends every observation of the two.
  func finish() {
    for list in [events, failures] { list.registry.finish([list]) }
  }

  /// Whether events have the values that are posted.
  // No pair: a wish says nothing of other memory.
  var describesValues: Bool { valueWishes.load(ordering: .relaxed) > 0 }

  // No pair: as above.
  func wishForValues(_ change: Int) { valueWishes.wrappingAdd(change, ordering: .relaxed) }
}

/// The observers of a source's events, which the source notes.
final class EventList: ObserverList, @unchecked Sendable {
  // A source ends these registrations, and refuses later ones, before its registry can go.
  private unowned let source: ObserverRegistry

  init(of source: ObserverRegistry, valueType: any Any.Type) {
    self.source = source
    super.init(registry: ObserverRegistry(), valueType: valueType)
  }

  override func populationChanged(by change: Int32, _ held: borrowing ObserverRegistry.Held) {
    source.setReporting(!isEmpty, held)
  }
}

/// Learns that a source may have got its first observer, or lost its last one.
final class PresenceHook: Sendable {
  /// The state that says whether there is one.
  let state: any AnyObject & Sendable
  /// Called under no lock, after a registration and after an end.
  let look: @Sendable () -> Void
  /// Called when the source is released.
  let finish: @Sendable () -> Void

  init(
    state: any AnyObject & Sendable, look: @escaping @Sendable () -> Void,
    finish: @escaping @Sendable () -> Void
  ) {
    (self.state, self.look, self.finish) = (state, look, finish)
  }
}
