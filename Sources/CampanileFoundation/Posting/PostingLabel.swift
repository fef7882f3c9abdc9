import Campanile
import Foundation

/// What is compared of a post that waits.
struct PostingLabel {
  enum Kind: Hashable {
    case message(ObjectIdentifier)
    case notification(Notification.Name)
  }

  enum Subject: Hashable {
    case none
    case instance(ObjectIdentifier)
  }

  /// What posts share that coalesce by one rule.
  enum Key: Hashable {
    case kind(ObjectIdentifier, Kind)
    case subject(ObjectIdentifier, Subject)
    case kindAndSubject(ObjectIdentifier, Kind, Subject)
    case key(ObjectIdentifier, String)
  }

  private let center: ObjectIdentifier
  private let kind: Kind
  /// The identity of the subject, or `nil` if it has none.
  ///
  /// Without one, no other post has the same subject.
  private let subject: Subject?

  /// - Parameters:
  ///   - center: Where to post.
  ///   - kind: What to post.
  ///   - subject: The instance that the post is about.
  ///   - isAboutValue: whether it is about a value, which has no identity.
  ///   - isLeftOut: whether the waiting post does not keep the subject, which is in its deinit. What
  ///     takes its place later is another subject.
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

  /// What a post shares with those that it takes back, or `nil` if it takes none back.
  func key(for rule: PostingCoalescing.Rule) -> Key? {
    switch rule {
    case .nothing: nil
    case .type: .kind(center, kind)
    case .subject: subject.map { .subject(center, $0) }
    case .typeAndSubject: subject.map { .kindAndSubject(center, kind, $0) }
    case .key(let key): .key(center, key)
    }
  }

  /// All that later posts may take this one back by.
  func keys(_ rule: PostingCoalescing.Rule) -> [Key] {
    var keys = [PostingCoalescing.Rule.type, .subject, .typeAndSubject].compactMap { key(for: $0) }
    if case .key(let key) = rule { keys.append(.key(center, key)) }
    return keys
  }
}
