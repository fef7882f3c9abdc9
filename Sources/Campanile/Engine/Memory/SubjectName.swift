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
  /// Of the subject's memory, or of its tag's; an unowned reference to `object` reserves it.
  let address: ObjectIdentifier
  /// The subject itself, as descriptions show it.
  let id: ObjectIdentifier

  /// Names `subject`, which gets a tag if it needs one.
  ///
  /// Under no lock. The caller keeps the subject until it has reserved the name, or is done.
  init(_ subject: AnyObject) {
    id = ObjectIdentifier(subject)
    address = isCountedBySwift(subject) ? id : ObjectIdentifier(SubjectTag.make(for: subject))
  }

  /// The name by which `subject` may be known already, or `nil` if it never was named.
  ///
  /// The caller keeps the subject while it compares.
  init?(known subject: AnyObject) {
    id = ObjectIdentifier(subject)
    if isCountedBySwift(subject) {
      address = id
    } else {
      guard let tag = SubjectTag.existing(of: subject) else { return nil }
      address = ObjectIdentifier(tag)
    }
  }

  /// The object at the address, which Swift counts, while the subject is kept.
  ///
  /// To move an unowned reference to it counts nothing, and to end one frees its memory at most: both
  /// may be done under a lock.
  var object: AnyObject {
    // SAFETY: the caller keeps the subject, which keeps its tag.
    unsafe unsafeBitCast(address, to: Unmanaged<AnyObject>.self)._withUnsafeGuaranteedRef { $0 }
  }

  /// The key of the subject in a table.
  var word: UInt { UInt(bitPattern: address) }

  /// Whether the address is that of a tag.
  var isTagged: Bool { SubjectTag.isUsed && address != id }
}

/// The native object that names a subject which Swift does not count.
///
/// It has no `deinit`, and nothing is released with it.
final class SubjectTag: Sendable {
  /// Whether there can be any; where not, nothing is left of the code that asks.
  static var isUsed: Bool {
    #if canImport(ObjectiveC) || DEBUG
      true
    #else
      false
    #endif
  }

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

  /// The address of a subject's tag, if it has one, for a post that found nothing by the subject's.
  static func address(for subject: ObjectIdentifier) -> UInt? {
    // SAFETY: the poster keeps the subject until the post returns.
    let living = unsafe unsafeBitCast(subject, to: Unmanaged<AnyObject>.self).takeUnretainedValue()
    return SubjectName(known: living)?.word
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
