/// Posting a message.
extension MessageCenter {
  /// Posts a message without a subject.
  ///
  /// When it returns, the immediate observers have been called, and the others may be called later.
  /// Observers of one subject do not receive the message.
  public func post<M: Message>(_ message: M) {
    find(message, Post())
  }

  /// Posts a message about `subject`.
  ///
  /// Subjects are compared by identity. The center retains the subject only until it is delivered
  /// to the observers that receive it.
  public func post<M: Message>(_ message: M, about subject: M.Subject) {
    find(message, Post(subject))
  }

  /// Posts a message and waits until every delivery of it has ended.
  ///
  /// A delivery ends when the observer has run, or when it is skipped, canceled, dropped from a full
  /// buffer, or discarded with its owner or target. A delivery to a sequence ends when the message is
  /// stored. On a target that several observers share, the delivery of a canceled observation or a
  /// dead owner ends when the target reaches it, so a target that does not run keeps the caller
  /// waiting.
  ///
  /// Inside an asynchronous observer this method waits neither for that observer nor for another one
  /// that waits for this call in the same way, because neither could take another message before the
  /// call returns.
  ///
  /// - Throws: `CancellationError` if the task is canceled first. The deliveries are still made.
  public func postAndWait<M: Message>(_ message: M) async throws {
    try await postAndWait(message, Post())
  }

  /// Posts a message about `subject` and waits until every delivery of it has ended.
  ///
  /// See ``postAndWait(_:)``.
  public func postAndWait<M: Message>(_ message: M, about subject: M.Subject) async throws {
    try await postAndWait(message, Post(subject))
  }

  private func postAndWait(_ message: some Message, _ post: Post) async throws {
    try await DeliveryTracker.wait { find(message, post.tracked(by: $0)) }
  }
}

/// Finds the observers of a message.
extension MessageCenter {
  /// Posts to the lists of the message's type, and to the observers of any message.
  @inline(__always)
  func find<M: Message>(_ message: M, _ post: borrowing Post) {
    // Before the lists are read: an observer that registers after this is reached through none of them.
    let limit = registry.now
    let topic = topics.topic(of: M.self)
    // Methods of the center itself, for the calls to be the last thing that this one does.
    if wildcard.isEmpty {
      guard let topic else {
        if registry.isReporting { postAlongRoute(message, post, nil, limit) }
        return
      }
      if post.subjectID == nil || !topic.hasSubjects {
        if !topic.isEmpty || registry.isReporting { deliver(message, post, to: topic, limit) }
        return
      }
    }
    if post.subjectID != nil { return postAlongRoute(message, post, topic, limit) }
    postWithWildcard(message, post, topic, limit)
  }

  @inline(never)
  private func deliver<M: Message>(
    _ message: M, _ post: borrowing Post, to topic: Topic, _ limit: UInt64
  ) {
    registry.post(message, post, to: topic, upTo: limit)
  }

  /// Posts a message without a subject to its topic and to the observers of any message.
  @inline(never)
  private func postWithWildcard<M: Message>(
    _ message: M, _ post: borrowing Post, _ topic: Topic?, _ limit: UInt64
  ) {
    let posted = PostedMessage(message: message, subject: nil)
    if registry.postInPlace(message, posted, post, to: topic, wildcard: wildcard, limit) { return }
    postAlongRoute(message, post, topic, limit)
  }

  /// Posts to all observers that the message reaches, wherever they run.
  @inline(never)
  private func postAlongRoute<M: Message>(
    _ message: M, _ post: borrowing Post, _ topic: Topic?, _ limit: UInt64
  ) {
    let hasWildcard = !wildcard.isEmpty
    let recipients = Recipients(registry, topic, wildcard: hasWildcard ? wildcard : nil, limit)
    if hasWildcard {
      WildcardValue.with(PostedMessage(message: message, subject: post.subjectID)) {
        registry.post(message, $0, post, to: recipients)
      }
    } else {
      registry.post(message, WildcardValue.absent, post, to: recipients)
    }
  }
}
