import Campanile
import Foundation

/// The properties of a waiting post that coalescing compares.
struct PostingLabel {
  enum Kind: Hashable {
    case message(ObjectIdentifier)
    case notification(Notification.Name)
  }

  enum Subject: Hashable {
    case none
    case instance(ObjectIdentifier)
  }

  /// The key that posts share if they coalesce by one rule.
  enum Key: Hashable {
    case kind(ObjectIdentifier, Kind)
    case subject(ObjectIdentifier, Subject)
    case kindAndSubject(ObjectIdentifier, Kind, Subject)
    case key(ObjectIdentifier, String)
  }

  private let center: ObjectIdentifier
  private let kind: Kind
  /// The identity of the subject, or `nil` if it has no identity.
  ///
  /// Without an identity, it equals the subject of no other post.
  private let subject: Subject?

  /// - Parameters:
  ///   - center: The center to post to.
  ///   - kind: The type or the name of the post.
  ///   - subject: The instance that the post is about.
  ///   - isAboutValue: Whether it is about a value, which has no identity.
  ///   - isLeftOut: Whether the waiting post does not keep the subject, because it is in its
  ///     deinit. A later object at the same address is another subject.
  init(
    center: AnyObject, kind: Kind, subject: AnyObject?, isAboutValue: Bool = false,
    isLeftOut: Bool = false
  ) {
    self.center = ObjectIdentifier(center)
    self.kind = kind
    guard let subject else {
      self.subject = isAboutValue ? nil : Subject.none
      return
    }
    self.subject = isLeftOut ? nil : .instance(SubjectIdentity.key(of: subject))
  }

  /// The key of the posts that this one replaces, or `nil` if it replaces none.
  func key(for rule: PostingCoalescing.Rule) -> Key? {
    switch rule {
    case .nothing: nil
    case .type: .kind(center, kind)
    case .subject: subject.map { .subject(center, $0) }
    case .typeAndSubject: subject.map { .kindAndSubject(center, kind, $0) }
    case .key(let key): .key(center, key)
    }
  }

  /// All keys by which a later post may replace this one.
  func keys(_ rule: PostingCoalescing.Rule) -> [Key] {
    var keys = [PostingCoalescing.Rule.type, .subject, .typeAndSubject].compactMap { key(for: $0) }
    if case .key(let key) = rule { keys.append(.key(center, key)) }
    return keys
  }
}
