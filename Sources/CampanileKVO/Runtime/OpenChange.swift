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

  /// What remains to be done after a plain change.
  @usableFromInline
  enum PlainEnd {
    /// Nothing: the change has been delivered, or another one around it will be.
    case told
    /// Deliver the values, as a change of the observed key path.
    case untold(KVOPath)
  }

  /// Ends a plain change, and delivers it if the caller need not provide its values.
  ///
  /// - Returns: `nil` if more than the values has to be delivered, or to several evaluations.
  @usableFromInline
  func endPlainly() -> PlainEnd? {
    guard let evaluation, let property, property.isPlain(self) else { return nil }
    if !property.endPlainly(evaluation) { return .told }
    if evaluation.isDirect { return .untold(evaluation.request.path) }
    evaluation.tellPlainly(property)
    return .told
  }

  /// Delivers the values before and after a change of the property of a direct key path.
  @inlinable
  func tell<Member>(_ old: Member?, _ new: Member, at path: KVOPath) {
    tell(KVOChange(setting: old, new, path), of: Member.self)
  }

  // Generic over the change, whose type the caller knows. Here it would be looked up.
  @usableFromInline
  func tell<Change, Member>(_ change: Change, of type: Member.Type) {
    evaluation?.tellPlainly(change, of: type)
  }
}
