/// A change of a property from its beginning to its end, held by the setter.
@usableFromInline
struct OpenChange {
  let property: ObservedProperty?
  /// The evaluation that the setter hands the values to, if nothing else is needed.
  let receiver: Evaluation?
  /// Whether it is handed the old value too.
  @usableFromInline let needsOld: Bool

  init(_ property: ObservedProperty?, _ receiver: Evaluation?) {
    self.property = property
    self.receiver = receiver
    needsOld = receiver?.needsOld ?? false
  }

  @usableFromInline init() { self.init(nil, nil) }

  /// Reports the values before and after a change of the property.
  @inlinable
  func report<Member>(_ old: Member?, _ new: Member) {
    guard let path = observedPath else { return }
    report(KVOChange(setting: old, new, path), of: Member.self)
  }

  @usableFromInline var observedPath: KVOPath? { receiver?.request.path }

  // Generic over the change, whose type the caller knows. Here it would be looked up.
  @usableFromInline
  func report<Change, Member>(_ change: Change, of type: Member.Type) {
    receiver?.report(change, of: type)
  }
}
