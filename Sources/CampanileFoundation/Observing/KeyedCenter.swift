package import Campanile

/// A message center whose topics are strings instead of types, for values of one type.
///
/// An observer names a key or any key, and a subject or any subject. All observers are called in
/// one order, the order in which they registered. The promises of `MessageCenter` hold here too.
/// A post takes no lock, and counts no references, if its key is the constant with which the key was
/// first observed. Another post takes a lock while it looks its key up.
///
/// A post finds the observers of its subject by the subject, whatever key they observe. Observers
/// of other subjects do not slow it.
package struct KeyedCenter<Value: Sendable>: Sendable {
  /// The lists, which hold values of this type alone; the observations end with this object.
  package let keys: KeyTable

  /// Creates a center without observers.
  package init() { self.init(KeyTable(of: Value.self)) }

  init(_ keys: KeyTable) { self.keys = keys }

  // MARK: Posting

  /// Posts a value under `key`, about `subject` if there is one, to all observers.
  ///
  /// - Parameter value: Makes the value, if the post may reach an observer. The post has begun, so
  ///   a caller that waits for its end waits for this too.
  package func post(to key: String, about subject: AnyObject?, _ value: () -> Value) {
    if let recipients = keys.recipients(of: key) { post(value(), about: subject, to: recipients) }
  }

  /// Posts a value to the observers of `key` alone, without those of any key.
  ///
  /// - Returns: Whether anybody observes the key.
  func postNarrowly(to key: String, about subject: AnyObject?, _ value: () -> Value) -> Bool {
    guard let recipients = keys.recipients(ofOnly: key) else { return false }
    post(value(), about: subject, to: recipients)
    return true
  }

  /// Posts a value to the observers of any key alone.
  ///
  /// - Returns: Whether there are any.
  func postToWildcard(about subject: AnyObject?, _ value: () -> Value) -> Bool {
    guard let recipients = keys.wildcardRecipients else { return false }
    post(value(), about: subject, to: recipients)
    return true
  }

  /// Posts a value to the recipients, and ends the post.
  package func post(
    _ value: Value, about subject: AnyObject?, to recipients: consuming Recipients
  ) {
    keys.post(value, about: subject, to: recipients)
  }

  // MARK: Registering

  /// Registers an observer of `key`, or of any key if it is `nil`, about the given subject, or
  /// about any.
  ///
  /// - Returns: The registration. It has already ended if the subject has died or is in its deinit,
  ///   or if the center has finished.
  package func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Value>, of key: String?,
    about given: AnyObject??
  ) -> Registration {
    var subject = given ?? nil
    if given != nil, subject.map({ isDeinitializing($0) }) ?? true {
      // Nothing arrives about an instance that is dead or in its deinit. A sequence stays silent and
      // ends with the center.
      guard body.isSequence else { return keys.ended }
      subject = Nobody.shared
    }
    return keys.register(request, body, of: key, about: subject)
  }
}

/// A subject about which nothing is posted.
private final class Nobody: Sendable {
  static let shared = Nobody()
}
