import Foundation

/// What is compared of a post that waits.
struct PostingLabel {
  enum Kind: Hashable {
    case message(ObjectIdentifier)
    case notification(Notification.Name)
  }

  let center: ObjectIdentifier
  let kind: Kind
  /// The identity of the subject, which the waiting post keeps alive.
  let subject: ObjectIdentifier?

  /// Whether it is about a value, which has no identity: its subject is no other post's.
  private let isAboutValue: Bool

  init(center: AnyObject, kind: Kind, subject: AnyObject?, isAboutValue: Bool = false) {
    self.center = ObjectIdentifier(center)
    self.kind = kind
    self.subject = subject.map { ObjectIdentifier($0) }
    self.isAboutValue = isAboutValue
  }

  func hasSubject(of other: PostingLabel) -> Bool {
    !isAboutValue && !other.isAboutValue && subject == other.subject
  }
}
