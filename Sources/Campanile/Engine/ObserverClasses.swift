/// The classes of direct observers, by the type of their values.
///
/// Generic code that makes an observer has the runtime look its class up, which takes as long as
/// everything else. Here the runtime is asked once for each type.
enum ObserverClasses {
  /// As many as a program has types that are observed.
  private static let all = AddressMap(capacity: 64)
  /// Held while adding to `all`, which is read without it.
  private static let making = Locked(())

  /// The class for observers of `type`.
  ///
  /// - Parameter look: Looks the class up, at the first call for the type.
  static func find(for type: any Any.Type, _ look: () -> AnyObserver.Type) -> AnyObserver.Type {
    let key = UInt(bitPattern: ObjectIdentifier(type))
    // SAFETY: a word in the map is such a class.
    return unsafe unsafeBitCast(all.object(of: key) ?? put(key, look()), to: AnyObserver.Type.self)
  }

  @inline(never)
  private static func put(_ key: UInt, _ new: AnyObserver.Type) -> UInt {
    let word = UInt(bitPattern: ObjectIdentifier(new))
    making.withLock { _, held in
      // Another thread may have been first.
      if all.object(of: key) == nil { all.insert(key, word, held) }
    }
    return word
  }
}
