/// A subject's address, by which it is found and nothing else; one word, also in an enumeration.
@safe struct SubjectAddress: @unchecked Sendable {
  // SAFETY: the object is looked at by `living` alone; it may have died.
  private let object: Unmanaged<AnyObject>

  init(_ object: AnyObject) { unsafe self.object = Unmanaged.passUnretained(object) }

  /// - Parameter word: what `word` gave.
  init(word: UInt) { unsafe object = Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: word)!) }

  var word: UInt { UInt(bitPattern: unsafe object.toOpaque()) }
  var id: ObjectIdentifier { unsafe unsafeBitCast(object.toOpaque(), to: ObjectIdentifier.self) }

  /// The object, for a caller that keeps it.
  var living: AnyObject { unsafe object.takeUnretainedValue() }

  /// Calls `body` with the object, which the caller keeps, and counts no reference for that.
  @inline(__always)
  func withLiving<Result>(_ body: (AnyObject) -> Result) -> Result {
    unsafe object._withUnsafeGuaranteedRef(body)
  }
}
