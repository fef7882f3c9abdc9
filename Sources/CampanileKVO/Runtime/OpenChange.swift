/// A change of a property from its beginning to its end, held by the setter.
@usableFromInline
struct OpenChange {
  /// The property, if it has been observed.
  @usableFromInline let property: ObservedProperty?
  let evaluation: Evaluation?
  let version: UInt
  /// Whether the old value of a plain change has to be delivered too.
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

  /// Whether only the values have to be delivered, to one evaluation.
  @usableFromInline
  var isPlain: Bool { evaluation != nil && property?.isPlain(self) == true }

  /// Ends a plain change, and delivers it if the caller need not provide its values.
  ///
  /// - Returns: Whether the caller has to deliver the values.
  @usableFromInline
  func endPlainly() -> Bool {
    guard let evaluation, let property, property.endPlainly(evaluation) else { return false }
    if evaluation.isDirect { return true }
    evaluation.tellPlainly(property)
    return false
  }

  /// Delivers the current value of the property, and the old one, if there is one.
  @inlinable
  func tell<Member>(_ old: Member?, _ new: Member) {
    if let path { tell(KVOChange(setting: old, new, path), of: Member.self) }
  }

  /// The observed key path.
  @usableFromInline
  var path: KVOPath? { evaluation?.request.path }

  // Generic over the change, whose type the caller knows. Here it would be looked up.
  @usableFromInline
  func tell<Change, Member>(_ change: Change, of type: Member.Type) {
    evaluation?.tellPlainly(change, of: type)
  }
}
