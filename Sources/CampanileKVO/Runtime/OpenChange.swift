/// A change of a property from its beginning to its end, as a setter holds it.
@usableFromInline
struct OpenChange {
  /// The property, if it has been asked about.
  @usableFromInline let property: ObservedProperty?
  let evaluation: Evaluation?
  let version: UInt

  init(
    _ property: ObservedProperty? = nil, _ evaluation: Evaluation? = nil, _ version: UInt = 0
  ) {
    self.property = property
    self.evaluation = evaluation
    self.version = version
  }

  /// Whether nothing but the value is to be told of it, to one evaluation.
  @usableFromInline
  var isPlain: Bool { evaluation != nil && property?.isPlain(self) == true }

  /// Ends a change that is plain.
  ///
  /// - Returns: Whether the value is to be told.
  @usableFromInline
  func endPlainly() -> Bool { property?.endPlainly() == true }

  /// Tells the value that the property has now.
  @usableFromInline
  func tell<Member>(_ value: Member) { evaluation?.tellPlainly(value) }
}
