/// A change of a property from its beginning to its end, as a setter holds it.
@usableFromInline
struct OpenChange {
  /// The property, if it has been asked about.
  @usableFromInline let property: ObservedProperty?
  let evaluation: Evaluation?
  let version: UInt
  /// Whether the old value is to be told too, of a plain change.
  @usableFromInline let needsOld: Bool

  init(_ property: ObservedProperty? = nil) {
    self.property = property
    evaluation = nil
    version = 0
    needsOld = false
  }

  init(plain property: ObservedProperty, _ evaluation: Evaluation, _ version: UInt) {
    self.property = property
    self.evaluation = evaluation
    self.version = version
    needsOld = evaluation.state.needsOld
  }

  /// Whether nothing but the values are to be told of it, to one evaluation.
  @usableFromInline
  var isPlain: Bool { evaluation != nil && property?.isPlain(self) == true }

  /// Ends a change that is plain, and tells it if no value is needed for that.
  ///
  /// - Returns: Whether the value is to be told.
  @usableFromInline
  func endPlainly() -> Bool {
    guard let evaluation, let property, property.endPlainly(evaluation) else { return false }
    if evaluation.isDirect { return true }
    evaluation.tellPlainly(property)
    return false
  }

  /// Tells the value that the property has now, and that before, if there is one.
  @inlinable
  func tell<Member>(_ old: Member?, _ new: Member) {
    if let path { tell(KVOChange(setting: old, new, path), of: Member.self) }
  }

  /// The key path that is observed.
  @usableFromInline
  var path: KVOPath? { evaluation?.request.path }

  // Generic over the change, whose type its caller knows: here it would be looked up.
  @usableFromInline
  func tell<Change, Member>(_ change: Change, of type: Member.Type) {
    evaluation?.tellPlainly(change, of: type)
  }
}
