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
