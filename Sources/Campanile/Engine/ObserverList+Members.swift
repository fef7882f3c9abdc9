/// A call of all members of a multicast, as it is posted to them.
@safe
private struct MemberCall {
  /// Calls a member, given the place where the member is stored.
  ///
  /// Not generic, because for each member a generic closure costs twice as much.
  let body: (UnsafeRawPointer) -> Void
}

extension ObserverList {
  /// Registers an object as a member that `callMembers` calls, without retaining it.
  ///
  /// The object need not be Sendable. It is called in the isolation of the code that calls the
  /// members. A list of objects that are not Sendable stays in one isolation.
  func addMember<Delegate>(_ member: Delegate, _ location: CallSite) -> Registration {
    require(
      type(of: member as Any) is AnyObject.Type,
      "A multicast was given a member of type \(type(of: member)), which is no class")
    // SAFETY: only its identity, its type and whether it lives are used across isolations.
    let object = unsafe unsafeBitCast(
      member as AnyObject, to: (any AnyObject & Sendable).self)
    let lifetime = registry.lifetime(ofOwner: object)
    let traits = ObserverTraits(
      location: location,
      details: ObserverDetails(
        owner: object, delivery: "the caller's isolation", onEnd: lifetime?.remove))
    let reference = InstanceReference(member, as: Delegate.self)
    let observer = AnyObserver.direct(traits) { (call: MemberCall) in
      if unsafe !reference.use(call.body) { throw ObservationIsOver() }
    }
    let registration = registry.add(observer, isSwept: true, owner: ObjectIdentifier(object)) {
      _, _ in self
    }
    if let registration { lifetime?.add(registration) }
    return registration ?? ended
  }

  /// Calls `body` with each member, until it throws.
  func callMembers<Delegate, Failure: Error>(
    _ body: (Delegate) throws(Failure) -> Void
  ) throws(Failure) {
    // Not an optional `Failure`, whose type would be looked up at each call.
    var failure: (any Error)?
    withoutActuallyEscaping(body) { body in
      // SAFETY: the calls are over when the closure returns. Each access to a captured variable would
      // be checked, which costs a quarter of a call.
      unsafe withUnsafeMutablePointer(to: &failure) { failure in
        let call = unsafe MemberCall { member in
          if unsafe failure.pointee != nil { return }
          do throws(Failure) {
            // SAFETY: the members of the list were added as `Delegate`.
            try unsafe body(member.assumingMemoryBound(to: Delegate.self).pointee)
          } catch {
            unsafe failure.pointee = error
          }
        }
        registry.post(call, Post(), to: self)
      }
    }
    // It was thrown by `body`.
    if let failure { throw failure as! Failure }
  }
}
