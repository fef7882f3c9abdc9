public import Campanile

/// Observes key paths of objects for one owner, which is handed to every observer.
///
/// ```swift
/// @MainActor final class Screen {
///   var title = ""
///   lazy var kvo = KVOController(owner: self)
///
///   func show(_ player: Player) {
///     kvo.observe(player, \.currentTrack?.title, .initial) { screen, player, change in
///       screen.title = change.new ?? ""
///     }
///   }
/// }
/// ```
///
/// ## Behavior
///
/// An observer is called for each change of the value at the end of the key path. That includes the
/// replacement of an object on the way, and, for a computed property, a change of what it is computed
/// from. The call is made where the change is made, before the setter returns, with the observers of
/// one object in the order in which they registered. To run an observer elsewhere, observe the
/// object's `changes(of:)`.
///
/// The class of the object decides the form. A class that stays in one isolation conforms to the
/// standard `Observable`, and its observers stay in that isolation too. A class that any thread may
/// change conforms to ``SharedObservable``; its observers are `@Sendable`, and so is the owner.
///
/// The controller keeps neither its owner nor, unless asked to, what it observes. An observation
/// ends with the controller, its owner or the observed object, or by one of the `unobserve`
/// methods; none of its calls begins afterwards. An object may observe itself, and is not kept by
/// that.
///
/// The controller observes one key path of one object once; what a second call does is its
/// ``Policy-swift.enum``. Key paths are the same if they compare equal: that of a subclass differs from that of
/// its superclass.
///
/// A controller is Sendable if its owner is, and then safe from any thread, also inside an
/// observer. No lock is held while an observer runs. An observation costs as much however many the
/// controller has.
public final class KVOController<Owner: AnyObject> {
  /// Whom the observations are for, as long as it lives.
  public var owner: Owner? { reference.object }
  let reference: OwnerReference<Owner>
  /// Whether what is observed is kept alive.
  public let retainsObserved: Bool
  let onError: (@Sendable (ObserverFailure) -> Void)?
  /// Protected by its lock.
  let observations = Locked(ObservationTable())

  /// Creates a controller that observes nothing; keep it in a `lazy var` of its owner.
  ///
  /// - Parameters:
  ///   - owner: Whom the observations are for; not kept.
  ///   - retainsObserved: Whether an object is kept alive for as long as it is observed. The owner
  ///     is never kept, even if it is observed.
  ///   - onError: Called with what an observer throws, on the thread where it threw. Without it,
  ///     one line goes to standard error.
  public init(
    owner: Owner, retainsObserved: Bool = false,
    onError: (@Sendable (ObserverFailure) -> Void)? = nil
  ) {
    reference = OwnerReference(owner)
    self.retainsObserved = retainsObserved
    self.onError = onError
  }

  deinit { unobserveAll() }

  // MARK: Ending

  /// Ends the observation of a key path of `object`.
  ///
  /// If it is not observed, nothing happens. All methods that end observations can be called inside
  /// an observer, its initial call included.
  public func unobserve<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) {
    let path = KVOPath(keyPath)
    let key = ObservationTable.Key(object, path)
    let same = observations.withLock { $0.entries(for: key) }.filter { $0.path == path }
    if same.isEmpty { return }
    let numbers = Set(same.map(\.number))
    observations.withLock { $0.remove(numbers, for: key) }
    end(same)
  }

  /// Ends every observation of `object`.
  public func unobserve(_ object: some AnyObject) {
    end(observations.withLock { $0.remove(ObjectIdentifier(object)) })
  }

  /// Ends every observation of this controller, which can be used again.
  public func unobserveAll() {
    end(observations.withLock { $0.removeAll() })
  }

  func end(_ entries: [ObservationTable.Entry]) {
    for entry in entries { entry.registration.cancel() }
  }

  // MARK: Looking

  /// Whether a key path of `object` is observed.
  public func isObserving<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) -> Bool {
    if owner == nil { return false }
    let path = KVOPath(keyPath)
    return liveEntry(of: object, path, ObservationTable.Key(object, path)) != nil
  }

  /// The oldest live observation of a key path of `object`, which is looked for under `key`.
  func liveEntry(
    of object: AnyObject, _ path: KVOPath, _ key: ObservationTable.Key
  ) -> ObservationTable.Entry? {
    let entries = observations.withLock { $0.entries(for: key) }
    return entries.first { $0.path == path && $0.isLive(of: object) }
  }

  /// How many observations have not ended.
  public var observationCount: Int { live.count }

  /// The live entries, oldest first.
  fileprivate var live: [ObservationTable.Entry] {
    // With the owner all of them have ended, whether or not that has been noticed.
    if owner == nil { return [] }
    return observations.withLock { $0.all }.filter(\.isLive).sorted { $0.number < $1.number }
  }
}

extension KVOController: Sendable where Owner: Sendable {}

extension KVOController: CustomStringConvertible {
  /// What is observed, a line each: object, key path, options, delivery, file and line.
  public var description: String {
    live.reduce("KVOController of \(Owner.self)") {
      $0 + "\n  " + $1.text()
    }
  }
}

extension KVOController {
  /// What to do about a key path of an object that the controller observes already.
  public enum Policy: Sendable, Hashable {
    /// Leave it as it is, and say so.
    case ignore
    /// End the observation there is, and make the new one. Neither of them gets a change that another thread
    /// makes between the two.
    case replace
    /// Make another one.
    case append
  }
}
