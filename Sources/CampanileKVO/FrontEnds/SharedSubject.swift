internal import Campanile
internal import Observation

/// Stands for an object of a ``SharedObservable`` class before the standard registrar, which demands an
/// `Observable` one.
///
/// The registrar asks no more of the object than its type. It knows properties by their key paths, so
/// one of this type, with the object's key path as its argument, stands for that one.
struct SharedSubject: Observable {
  private subscript(path: KeyPathIdentity) -> Int { 0 }

  static func keyPath(for keyPath: AnyKeyPath) -> KeyPath<SharedSubject, Int> {
    \SharedSubject[KeyPathIdentity(keyPath)]
  }
}

extension ObservationRegistrar {
  func access(shared keyPath: AnyKeyPath) {
    access(SharedSubject(), keyPath: SharedSubject.keyPath(for: keyPath))
  }

  func willSet(shared keyPath: AnyKeyPath) {
    willSet(SharedSubject(), keyPath: SharedSubject.keyPath(for: keyPath))
  }

  func didSet(shared keyPath: AnyKeyPath) {
    didSet(SharedSubject(), keyPath: SharedSubject.keyPath(for: keyPath))
  }
}
