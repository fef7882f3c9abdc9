public import Campanile

/// Observes key paths of objects for one owner, which is passed to every observer.
///
/// ```swift
/// @MainActor final class Screen {
///   var title = ""
///   lazy var kvo = KVOController(owner: self)
///
///   func show(_ player: Player) {
///     kvo.observe(player, \.currentTrack?.title, options: .initial) { screen, player, change in
///       screen.title = change.new ?? ""
///     }
///   }
/// }
/// ```
///
/// ## Behavior
///
/// An observer is called for each change of a property that the key path reads: the one at its end,
/// an object on the way, or one from which the value is computed. The call is made where the change
/// is made, before the setter returns. The observers of a key path receive its changes in the order
/// in which they were made, and each change in the order in which they registered, as
/// <doc:TheContractOfKeyPaths> says in full. To run an observer elsewhere, observe the object's
/// `changes(of:)`.
///
/// The class of the object decides the form. A class that stays in one isolation conforms to the
/// standard `Observable`, and its observers stay in that isolation too. A class that any thread may
/// change conforms to ``SharedObservable``; its observers are `@Sendable`, and so is the owner.
///
/// The controller does not retain its owner, and retains the observed objects only if it is asked
/// to. An observation ends with the controller, its owner or the observed object, or by one of the
/// `unobserve` methods, and no call begins after its end. An object may observe itself; the
/// observation does not keep it alive.
///
/// The controller observes one key path of one object once; its ``Policy-swift.enum`` decides what
/// a second call does. Key paths are the same if they compare equal, so the key path of a subclass
/// differs from that of its superclass.
///
/// A controller is `Sendable` if its owner is, and is then safe to use from any thread. No lock is
/// held while an observer runs, so an observer may use the controller. The cost of an observation
/// depends on the number of observations of the same object, and not on those of others.
public final class KVOController<Owner: AnyObject> {
  /// The owner of the observations, as long as it lives.
  public var owner: Owner? { reference.object }
  let reference: OwnerReference<Owner>
  let lifetime: EndActions?
  /// Whether observed objects are kept alive.
  public let retainsObserved: Bool
  let onError: (@Sendable (ObserverFailure) -> Void)?
  /// Protected by its lock.
  let observations = Locked(ObservationTable())

  /// Creates a controller that observes nothing, to be kept in a `lazy var` of its owner.
  ///
  /// - Parameters:
  ///   - owner: The owner of the observations, which is held weakly.
  ///   - retainsObserved: Whether an object is kept alive for as long as it is observed. The owner
  ///     is never retained, even if it is observed.
  ///   - onError: Called with errors that an observer throws, on the thread where the observer
  ///     threw. Without it, one line is written to standard error.
  public init(
    owner: Owner, retainsObserved: Bool = false,
    onError: (@Sendable (ObserverFailure) -> Void)? = nil
  ) {
    reference = OwnerReference(owner)
    lifetime = EndActions.of(owner)
    self.retainsObserved = retainsObserved
    self.onError = onError
  }

  deinit { unobserveAll() }

  // MARK: Ending

  /// Ends the observation of a key path of `object`, if there is one.
  ///
  /// All methods that end observations can be called inside an observer, its initial call included.
  public func unobserve<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) {
    let id = ObjectIdentifier(object)
    var entry: ObservationTable.Entry?
    var hasOthers = false
    observations.withLock { entry = $0.take(id, ObjectIdentifier(keyPath), &hasOthers) }
    if let entry { entry.registration.cancel() }
    if !hasOthers { return }
    let (same, _) = entries(of: id, KVOPath(keyPath))
    observations.withLock { $0.remove(same) }
    end(same)
  }

  /// Ends every observation of `object`.
  public func unobserve(_ object: some AnyObject) {
    end(observations.withLock { $0.remove(ObjectIdentifier(object)) })
  }

  /// Ends every observation of this controller, which can be used again.
  public func unobserveAll() { end(observations.withLock { $0.removeAll() }) }

  func end(_ entries: [ObservationTable.Entry]) {
    for entry in entries { entry.registration.cancel() }
  }

  // MARK: Inspecting

  /// Whether a key path of `object` is observed.
  public func isObserving<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) -> Bool {
    let (same, _) = entries(of: ObjectIdentifier(object), KVOPath(keyPath))
    return owner != nil && same.contains { $0.isLive(of: object) }
  }

  /// The entries of a key path of an object, oldest first, and the number of additions to the table.
  func entries(
    of object: ObjectIdentifier, _ path: KVOPath
  ) -> (same: [ObservationTable.Entry], additions: Int) {
    let (all, additions) = observations.withLock { ($0.entries(of: object), $0.additions) }
    return (all.filter { $0.path == path }, additions)
  }

  /// The number of observations that have not ended.
  public var observationCount: Int { live.count }

  /// The live entries, oldest first.
  fileprivate var live: [ObservationTable.Entry] {
    // All observations end with the owner, whether or not the table has noticed.
    if owner == nil { return [] }
    return observations.withLock { $0.all }.filter(\.isLive)
  }
}

extension KVOController: Sendable where Owner: Sendable {}

extension KVOController: CustomStringConvertible {
  /// The observations, one line each: object, key path, options, file and line.
  public var description: String {
    live.reduce("KVOController of \(Owner.self)") { $0 + "\n  " + $1.description }
  }
}

extension KVOController {
  /// The behavior if the controller observes a key path of an object already.
  public enum Policy: Sendable, Hashable {
    /// Keep the existing observation, and return it.
    case ignore
    /// End the existing observation, and make the new one.
    ///
    /// No change is received by both, and a change that another thread makes between the two by
    /// neither.
    case replace
    /// Make another observation.
    case append
  }
}
