#if canImport(ObjectiveC)
  import ObjectiveC
#endif

/// The name of a subject in every table and list.
///
/// A subject is found by an address, which no other object may get while a registration refers to
/// it. For an object that Swift counts, an unowned reference ensures that: it reserves the memory
/// of an object that has died.
///
/// Other runtimes reserve nothing. On Apple platforms an unowned reference to an object of a class
/// below `NSObject` is a weak one. To copy it may be to hold the object last. So an object that
/// Swift does not count is never referred to. It has a *tag*: a native object that is attached to
/// it and released with it. The address of the tag is the subject's.
struct SubjectName: Sendable, Equatable {
  /// Of the subject's memory, or of its tag's.
  ///
  /// A `SubjectHold` reserves it.
  let address: SubjectAddress
  /// The subject itself, as descriptions show it.
  let id: ObjectIdentifier

  /// Names `subject`, which gets a tag if it needs one.
  ///
  /// Under no lock. The caller keeps the subject until it has made a hold, or is done.
  @inline(__always)
  init(_ subject: AnyObject) {
    if SubjectTag.isNeeded(by: subject) {
      address = SubjectAddress(SubjectTag.make(for: subject))
    } else {
      address = SubjectAddress(subject)
    }
    id = ObjectIdentifier(subject)
  }

  /// The name of a subject that Swift counts.
  @inline(__always)
  fileprivate init(untagged address: SubjectAddress) {
    self.address = address
    id = address.id
  }

  /// The name by which `subject` may be known already, or `nil` if it never was named.
  ///
  /// The caller keeps the subject while it compares.
  @inline(__always)
  init?(known subject: AnyObject) {
    if SubjectTag.isNeeded(by: subject) {
      guard let tag = SubjectTag.existing(of: subject) else { return nil }
      address = SubjectAddress(tag)
    } else {
      address = SubjectAddress(subject)
    }
    id = ObjectIdentifier(subject)
  }

  /// Whether the address is that of a tag.
  @inline(__always)
  var isTagged: Bool { SubjectTag.isUsed && address.id != id }

  static func == (one: Self, other: Self) -> Bool { one.address.word == other.address.word }
}

/// Reserves the address of one subject's name.
///
/// It refers to native memory. To move it counts nothing, and to end it frees that memory at most:
/// both may be done under a lock.
struct SubjectHold: ~Copyable, @unchecked Sendable {
  // SAFETY: never read; it is here for what an unowned reference does to native memory.
  private unowned let memory: AnyObject

  /// Reserves the address of a name, whose subject the caller keeps.
  @inline(__always)
  init(_ name: SubjectName) { memory = name.address.withLiving { $0 } }
}

/// A subject whose name needs no tag and can be reserved, as nearly every one: a value in place of a
/// ``SubjectIdentity``.
struct PlainSubject: @unchecked Sendable {
  // SAFETY: never read; it reserves the address, and so does each copy.
  private unowned let memory: AnyObject
  private let address: SubjectAddress

  /// - Returns: `nil` for a subject that is not plain, or whose deinit has begun.
  @inline(__always)
  init?(_ subject: AnyObject) {
    if isDeinitializing(subject) || SubjectTag.isNeeded(by: subject) { return nil }
    memory = subject
    address = SubjectAddress(subject)
  }

  @inline(__always)
  var name: SubjectName { SubjectName(untagged: address) }
}

/// The native object that names a subject which Swift does not count.
///
/// It has no `deinit`, and nothing is released with it.
final class SubjectTag: Sendable {
  /// Whether there can be any; where not, nothing is left of the code that asks.
  @inline(__always)
  static var isUsed: Bool {
    #if canImport(ObjectiveC) || DEBUG
      true
    #else
      false
    #endif
  }

  /// Whether Swift does not count `subject`.
  @inline(__always)
  fileprivate static func isNeeded(by subject: AnyObject) -> Bool { !isCountedBySwift(subject) }

  /// The tag of a subject that needs one, if it has been made.
  ///
  /// The subject keeps it. The runtime that attaches objects locks its own table for a moment.
  fileprivate static func existing(of subject: AnyObject) -> SubjectTag? {
    #if DEBUG
      if let attachment = (subject as? any ForeignStandIn)?.attachment {
        return attachment.tag.withLock { $0 }
      }
    #endif
    #if canImport(ObjectiveC)
      return unsafe objc_getAssociatedObject(subject, key) as! SubjectTag?
    #else
      return nil
    #endif
  }

  private static let making = Locked(())

  /// The tag of a subject that needs one, made if there is none.
  fileprivate static func make(for subject: AnyObject) -> SubjectTag {
    // Two threads may name a subject for the first time: both get the same tag.
    making.withLock { _ in
      if let tag = existing(of: subject) { return tag }
      let tag = SubjectTag()
      attach(tag, to: subject)
      return tag
    }
  }

  private static func attach(_ tag: SubjectTag, to subject: AnyObject) {
    #if DEBUG
      if let attachment = (subject as? any ForeignStandIn)?.attachment {
        attachment.tag.withLock { $0 = tag }
        return
      }
    #endif
    #if canImport(ObjectiveC)
      // Not atomic: the tag is never replaced, so that to read it need not leave it to a pool, which
      // could keep it when the subject has gone.
      unsafe objc_setAssociatedObject(subject, key, tag, .OBJC_ASSOCIATION_RETAIN_NONATOMIC)
    #endif
  }

  #if canImport(ObjectiveC)
    /// The key under which tags are attached: an address that no other code uses.
    private static var key: UnsafeRawPointer {
      // SAFETY: compared, and never read.
      unsafe UnsafeRawPointer(bitPattern: UInt(bitPattern: ObjectIdentifier(SubjectTag.self)))!
    }
  #endif
}

/// Whether Swift counts the references to `object`; on Apple platforms not below `NSObject`.
@inline(__always)
func isCountedBySwift(_ object: AnyObject) -> Bool {
  #if DEBUG
    if let standIn = object as? any ForeignStandIn, standIn.attachment != nil { return false }
  #endif
  #if canImport(ObjectiveC)
    return rootClass(of: type(of: object)) == nativeRootClass
  #else
    return true
  #endif
}

#if canImport(ObjectiveC)
  /// The class that every natively counted one descends from.
  private let nativeRootClass: AnyClass = rootClass(of: SubjectTag.self)

  private func rootClass(of subclass: AnyClass) -> AnyClass {
    var root: AnyClass = subclass
    while let next = class_getSuperclass(root) { root = next }
    return root
  }
#endif

extension SubjectTag {
  /// The address of a subject's tag, if it has one, for a post that found nothing by the subject's.
  @inline(never)
  static func address(for subject: ObjectIdentifier) -> UInt? {
    // SAFETY: the poster keeps the subject until the post returns.
    let living = SubjectAddress(word: UInt(bitPattern: subject)).living
    return SubjectName(known: living)?.address.word
  }
}

#if DEBUG
  /// An object that tests declare not to be counted by Swift.
  protocol ForeignStandIn: AnyObject {
    /// The attachment that is released when the object ends; `nil` for one that is native after all.
    var attachment: SubjectAttachment? { get }
  }

  /// The place of what is attached to a stand-in.
  final class SubjectAttachment: Sendable {
    fileprivate let tag = Locked<SubjectTag?>(nil)
  }
#endif

/// A subject's address, by which it is found and nothing else; one word, also in an enumeration.
@safe struct SubjectAddress: @unchecked Sendable {
  // SAFETY: the object is looked at by `living` alone; it may have died.
  private let object: Unmanaged<AnyObject>

  init(_ object: AnyObject) { unsafe self.object = Unmanaged.passUnretained(object) }

  /// - Parameter word: The result of `word`.
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
