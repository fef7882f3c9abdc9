/// A subject's address, by which it is found and nothing else; one word, also in an enumeration.
@safe struct SubjectAddress: @unchecked Sendable {
  // SAFETY: the object is never looked at; it may have died.
  private let object: Unmanaged<AnyObject>

  init(_ subject: AnyObject) { unsafe object = Unmanaged.passUnretained(subject) }

  /// - Parameter word: what `word` gave.
  init(word: UInt) { unsafe object = Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: word)!) }

  var word: UInt { UInt(bitPattern: unsafe object.toOpaque()) }
  var id: ObjectIdentifier { unsafe unsafeBitCast(object.toOpaque(), to: ObjectIdentifier.self) }
}
