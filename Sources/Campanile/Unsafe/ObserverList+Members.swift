extension ObserverList {
  /// Registers an object that is called through `(Delegate) -> Void` closures, and held weakly.
  ///
  /// The object need not be Sendable. It is called in the isolation of the code that posts the
  /// closure. A list of objects that are not Sendable stays in one isolation.
  @_optimize(size)
  func addMember<Delegate>(_ member: Delegate, _ location: CallSite) -> Registration {
    require(
      type(of: member as Any) is AnyObject.Type,
      "A multicast was given a member of type \(type(of: member)), which is no class")
    // SAFETY: only its identity, its type and whether it lives are used across isolations.
    let object = unsafe unsafeBitCast(
      member as AnyObject, to: (any AnyObject & Sendable).self)
    let lifetime = registry.ownerLifetimes.lifetime(of: object)
    let traits = ObserverTraits(
      location: location,
      details: ObserverDetails(
        owner: object, delivery: "the caller's isolation", onEnd: lifetime?.remove))
    let observer = AnyObserver.direct(traits) { [weak object] (call: (Delegate) -> Void) in
      guard let object else { throw ObservationIsOver() }
      // The object is the member that was handed in as a `Delegate`.
      call(object as! Delegate)
    }
    let registration = registry.add(observer, isSwept: true, owner: ObjectIdentifier(object)) {
      _, _ in .list(self)
    }
    if let registration { lifetime?.add(registration) }
    return registration ?? Registration(list: self, id: 0, counters: nil)
  }
}
