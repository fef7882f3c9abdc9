/// Which waiting posts a new one replaces.
public struct PostingCoalescing: Sendable {
  /// What a waiting entry must share with the new one to be removed.
  enum Rule: Sendable {
    case nothing
    case type
    case subject
    case typeAndSubject
    case key(String)
  }

  let rule: Rule

  /// Every post is made.
  public static let none = PostingCoalescing(rule: .nothing)
  /// Of the messages of one type, or the notifications of one name, only the last is posted.
  public static let type = PostingCoalescing(rule: .type)
  /// Of the posts about one subject, or without a subject, only the last is posted, whatever its
  /// type.
  public static let subject = PostingCoalescing(rule: .subject)
  /// Of the messages of one type about one subject, or without a subject, only the last is posted.
  public static let typeAndSubject = PostingCoalescing(rule: .typeAndSubject)

  /// Of the posts that were enqueued with this key, only the last is posted, whatever its type.
  public static func key(_ key: String) -> PostingCoalescing {
    PostingCoalescing(rule: .key(key))
  }
}
