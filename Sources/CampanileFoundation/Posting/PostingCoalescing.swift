/// Which waiting posts a new post removes.
///
/// Only the new post's rule counts, whatever rule the waiting posts were enqueued with.
public struct PostingCoalescing: Sendable {
  /// The property that a waiting entry must share with the new one to be removed.
  enum Rule: Sendable {
    case nothing
    case type
    case subject
    case typeAndSubject
    case key(String)
  }

  let rule: Rule

  /// Removes none.
  ///
  /// A later post can still remove this one.
  public static let none = PostingCoalescing(rule: .nothing)
  /// Removes the messages of the same type, or the notifications of the same name.
  public static let type = PostingCoalescing(rule: .type)
  /// Removes the posts about the same subject, of any type; without a subject, those without one.
  public static let subject = PostingCoalescing(rule: .subject)
  /// Removes the posts of the same type about the same subject, or without one.
  public static let typeAndSubject = PostingCoalescing(rule: .typeAndSubject)

  /// Removes the posts that were enqueued with the same key, of any type.
  public static func key(_ key: String) -> PostingCoalescing {
    PostingCoalescing(rule: .key(key))
  }
}
