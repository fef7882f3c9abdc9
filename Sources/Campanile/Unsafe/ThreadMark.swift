/// A thread, as an object that learns of the thread's end.
///
/// Every thread that asks has one. It may outlive the thread; that no other thread ever is mistaken
/// for it is what makes it better than the thread's number.
package final class ThreadMark: Sendable {
  /// A post that one center makes for others: where it comes from.
  package struct Transit: Sendable {
    /// The center that posts.
    package let center: ObjectIdentifier
    /// Where the message has come through before.
    package let path: [PathStep]
    /// How deep the post is nested on its thread.
    fileprivate let depth: Int
  }

  private let lifetime = Lifetime.Storage()
  /// The transits in progress on the thread, the innermost last; touched by the thread alone.
  private let transits = Locked<[Transit]>([])

  private init() {}

  /// The calling thread's mark, made when it is asked for first.
  package static var current: ThreadMark {
    if let mark = existing { return mark }
    let mark = ThreadMark()
    // SAFETY: the slot owns one reference, which the destructor gives back.
    unsafe slot.value = Unmanaged.passRetained(mark).toOpaque()
    return mark
  }

  /// Whether this is the calling thread's mark.
  package var isCurrent: Bool { Self.existing === self }

  /// Calls `action` when the thread ends, on the thread, or now if it has ended.
  package func onEnd(_ action: @escaping @Sendable () -> Void) {
    lifetime.add(action)
  }

  /// Runs `post`, which posts once to `center`, as the last part of `path`.
  ///
  /// Only observers of that very post, called on this thread, find the path: not those of posts
  /// that other observers make meanwhile, which are nested deeper.
  package static func carry(
    along path: [PathStep], to center: AnyObject, _ post: () -> Void
  ) {
    let mark = current
    let depth = unsafe ThreadRecord.current.pointee.depth + 1
    let transit = Transit(center: ObjectIdentifier(center), path: path, depth: depth)
    mark.transits.withLock { $0.append(transit) }
    post()
    mark.transits.withLock { _ = $0.removeLast() }
  }

  /// Where the post has come through which is calling an observer of `center` right
  /// here.
  package static func path(to center: AnyObject) -> [PathStep] {
    path(to: ObjectIdentifier(center))
  }

  /// The same for a center that lives.
  package static func path(to center: ObjectIdentifier) -> [PathStep] {
    guard let transit = existing?.transits.withLock({ $0.last }) else { return [] }
    let depth = unsafe ThreadRecord.current.pointee.depth
    let isThisPost = transit.depth == depth && transit.center == center
    return isThisPost ? transit.path : []
  }

  private static var existing: ThreadMark? {
    guard let pointer = unsafe slot.value else { return nil }
    // SAFETY: the slot holds nothing but a mark.
    return unsafe Unmanaged<ThreadMark>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func end(_ pointer: UnsafeMutableRawPointer?) {
    guard let pointer = unsafe pointer else { return }
    // SAFETY: as in `existing`; the slot is empty from here on.
    unsafe Unmanaged<ThreadMark>.fromOpaque(pointer).takeRetainedValue().lifetime.end()
  }

  private static let slot = unsafe ThreadSlot { unsafe ThreadMark.end($0) }
}
