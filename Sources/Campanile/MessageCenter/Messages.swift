extension MessageCenter {
  /// The messages of one type, about any subject or about one.
  ///
  /// ```swift
  /// center.messages(of: LevelChanged.self, about: player)
  ///   .observe(owner: self, on: .main) { meter, message in meter.show(message.level) }
  /// for await message in center.messages(of: TrackChanged.self).values(buffering: .newest(16)) {
  ///   print(message.title)
  /// }
  /// ```
  ///
  /// It is a value, which you can store, send to another thread, and observe as often as you like.
  /// It keeps its center alive, but not the subject. Observers and sequences about a subject that
  /// has died receive nothing.
  public struct Messages<M: Message>: ObservationSource {
    /// The messages as a signal, which can only be observed.
    public let signal: Signal<M>
  }

  /// A message and its subject.
  public struct Posted<M: Message>: Sendable where M.Subject: Sendable {
    /// The message.
    public let message: M
    /// The subject of the message, if it has one that is not in its `deinit`.
    public let subject: M.Subject?
  }

  /// The messages of a type, about any subject or none.
  public func messages<M: Message>(of type: M.Type) -> Messages<M> {
    Messages(signal: Signal(.all(self)))
  }

  /// The messages of a type about one instance.
  ///
  /// Messages without a subject, or about another instance, are not included. The subject is compared
  /// by identity and not kept alive. A new object at its address after its death is not mistaken for
  /// it. If the object has died, or its deinit has begun, nothing is received.
  public func messages<M: Message>(of type: M.Type, about subject: M.Subject) -> Messages<M> {
    let lifetime = registry.lifetime(ofSubject: subject)
    return Messages(signal: Signal(.about(SubjectIdentity(subject), lifetime, self)))
  }
}

extension MessageCenter.Messages where M.Subject: Sendable {
  /// The messages, each with its subject.
  ///
  /// A queued delivery keeps the subject alive until it is made. If the subject posts in its `deinit`,
  /// the observers get `nil` for it.
  public var withSubject: Signal<MessageCenter.Posted<M>> {
    transformed(receivesSubject: true) { message, post, pass in
      // Retaining a subject that is in its deinit would stop the program.
      let subject = post.subject(of: M.self).flatMap { isDeinitializing($0) ? nil : $0 }
      try pass(.init(message: message, subject: subject))
    }
  }
}

extension MessageCenter {
  /// A message of any type, as observers of any message receive it.
  public struct PostedMessage: Sendable {
    /// The message.
    public let message: any Message
    /// The identity of the message's subject, if it has one.
    ///
    /// It is valid while the subject lives. A later instance may have the same identity.
    public let subject: ObjectIdentifier?
  }

  /// Every message that is posted here.
  ///
  /// ```swift
  /// self.token = center.anyMessage.observe { print($0.message) }
  /// ```
  ///
  /// Observers of any message and observers of single types run in one order, the order in which
  /// they registered. While there are observers of any message, each post makes one existential
  /// value, which is allocated if the message is larger than 24 bytes.
  public var anyMessage: Signal<PostedMessage> { Signal(base: ListSignal(wildcard, keeping: self)) }
}
