/// Which posts say the same, so that the last one is enough.
public struct PostingCoalescing: Sendable {
  /// What an entry must share with the new one to be taken back.
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
  /// Of the messages of one type, or the notifications of one name, the last.
  public static let type = PostingCoalescing(rule: .type)
  /// Of the posts about one subject, or about none, the last, whatever they say.
  public static let subject = PostingCoalescing(rule: .subject)
  /// Of the messages of one type about one subject, or about none, the last.
  public static let typeAndSubject = PostingCoalescing(rule: .typeAndSubject)

  /// Of the posts that were enqueued with this key, the last, whatever they say.
  public static func key(_ key: String) -> PostingCoalescing {
    PostingCoalescing(rule: .key(key))
  }
}
