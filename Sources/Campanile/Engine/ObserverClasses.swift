/// The classes of the observers of one type of values.
///
/// Generic code that makes an observer has the runtime look its class up, which takes as long as
/// everything else. Here the runtime is asked once for each type.
final class ObserverClasses: Sendable {
  /// The `DirectObserver` of the type.
  let direct: AnyObserver.Type
  /// The one with details.
  let detailed: AnyObserver.Type

  init(direct: AnyObserver.Type, detailed: AnyObserver.Type) {
    self.direct = direct
    self.detailed = detailed
  }

  /// As many as a program has types that are observed.
  private static let all = AddressMap<ObserverClasses>(capacity: 64)
  /// Held while adding to `all`, which is read without it.
  private static let making = Locked(())

  /// The class for observers of `type`.
  ///
  /// - Parameter make: Makes the classes at the first call for the type.
  static func find(
    for type: any Any.Type, hasDetails: Bool, _ make: () -> ObserverClasses
  ) -> AnyObserver.Type {
    let key = UInt(bitPattern: ObjectIdentifier(type))
    let known = unsafe all.object(for: key) ?? put(key, make())
    // SAFETY: what is in the map stays.
    return unsafe known._withUnsafeGuaranteedRef { hasDetails ? $0.detailed : $0.direct }
  }

  @inline(never)
  private static func put(_ key: UInt, _ new: ObserverClasses) -> Unmanaged<ObserverClasses> {
    making.withLock { _, held in
      // Another thread may have been first.
      if unsafe all.object(for: key) == nil { all.insert(key, new, held) }
    }
    return unsafe all.object(for: key)!
  }
}
