public import Campanile

/// The changes of one key path of one object, to be observed in every way that Campanile has: with a
/// token or an owner, on a queue or an actor, asynchronously, or as a sequence.
///
/// ```swift
/// for await change in counter.changes(of: \.count).values() {
///   print(change.new)
/// }
/// ```
///
/// It follows the key path from when it was made until it and all its observations have gone, or the
/// object has died, which ends them and every sequence. Changes are not coalesced; a sequence with
/// the buffering `.newest(1)` leaves out what its reader was too slow for. With `.initial`, each
/// observer and each reader begins with the newest value.
public struct KeyPathChanges<Value: Sendable>: Followable {
  /// What observers are given.
  public typealias Element = KVOChange<Value>
  /// What can be asked of an observation; what can be asked of the changes is asked where they are
  /// made.
  public typealias Options = ObservationOptions

  private let changes: SourceList<KVOChange<Value>>
  private let upstream: Upstream
  /// The newest change, for those who begin with it.
  private let newest: Newest?

  private final class Newest: Sendable {
    let change = Locked<KVOChange<Value>?>(nil)
  }

  init<Object: AnyObject>(_ request: KVORequest<Object, Value>) {
    let upstream = Upstream()
    let observation = KeyPathObservation(
      request, owner: nil, upstream: upstream, onError: nil)
    self.upstream = upstream
    changes = observation.changes
    if request.options.isInitial {
      let newest = Newest()
      let registration = changes.addConfined(owner: nil, file: request.file, line: request.line) {
        change in
        // Released outside the lock.
        let old = newest.change.withLock { newest in
          defer { newest = change }
          return newest
        }
        withExtendedLifetime(old) {}
      }
      self.newest = newest
      observation.start(for: registration)
    } else {
      newest = nil
      observation.start(for: nil)
    }
  }

  /// Registers an observer.
  ///
  /// Not for direct use: call `observe`.
  public func _register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<KVOChange<Value>>,
    _ options: ObservationOptions
  ) -> Registration? {
    let registration = changes.register(
      request, body, isOnce: options.contains(.once), keeping: upstream)
    if let registration, let change = newest?.change.withLock({ $0 }) {
      changes.post(KVOChange(initial: change.new, at: change.path), onlyTo: registration)
    }
    return registration
  }

  /// A registration that has ended.
  ///
  /// Not for direct use.
  public var _ended: Registration { changes.ended }
}
