import CampanileRelay

/// Subjects as servers take them.
///
/// A server doesn't say what is wrong with a subject. It ignores a subject with an empty token, takes
/// a space for the end, and delivers to `*`. If the line is too long, it closes the connection.
enum NATSSubject {
  /// The bytes of a subject at the most: a line of the protocol has 4,096, and more than the
  /// subject in it.
  static let limit = 3_072
  /// The bytes of a prefix of inboxes at the most, which may be in the same line.
  static let prefixLimit = 512

  /// Whether messages can be sent under this name.
  static func isName(_ text: String) -> Bool {
    text.utf8.count <= limit && SubjectName.isName(text)
  }

  /// Whether a subject belongs to the protocol or to the relays themselves.
  ///
  /// Observers of all names do not receive its messages.
  static func isInternal(_ subject: String) -> Bool {
    switch subject.utf8.first {
    case UInt8(ascii: "$"): true
    case UInt8(ascii: "_"): subject.hasPrefix("_INBOX.") || subject.hasPrefix(prefix)
    default: false
    }
  }

  /// The subjects on which relays announce themselves to each other.
  static let prefix = "_campanile."
  static let presence = "_campanile.here"
}
