internal import Campanile
internal import Observation

/// Represents an object of a ``SharedObservable`` class for the standard registrar, which requires
/// an `Observable` object.
///
/// The registrar uses nothing of the object but its type, and identifies properties by their key
/// paths. So a key path of this type, with the object's key path as argument, represents each
/// property.
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
