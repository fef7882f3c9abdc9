/// Finds the observers of a message.
extension MessageCenter {
  /// Posts to the lists of the message's type, and to the observers of any message.
  @inline(__always)
  func find<M: Message>(_ message: M, _ post: borrowing Post) {
    // Before the lists are read: an observer that registers after this is reached through none of them.
    let limit = registry.now
    let topic = topics.topic(of: M.self)
    // Methods of the center itself, for the calls to be the last thing that this one does.
    if wide.isEmpty {
      guard let topic else {
        if registry.isWatched { postAlongRoute(message, post, nil, limit) }
        return
      }
      if post.subjectID == nil || !topic.hasSubjects {
        if !topic.isEmpty || registry.isWatched { deliver(message, post, to: topic, limit) }
        return
      }
    }
    if post.subjectID != nil { return postAlongRoute(message, post, topic, limit) }
    postWidely(message, post, topic, limit)
  }

  @inline(never)
  private func deliver<M: Message>(
    _ message: M, _ post: borrowing Post, to topic: Topic, _ limit: UInt64
  ) {
    registry.post(message, post, to: topic, upTo: limit)
  }

  /// Posts a message without a subject to its topic and to the observers of any message.
  @inline(never)
  private func postWidely<M: Message>(
    _ message: M, _ post: borrowing Post, _ topic: Topic?, _ limit: UInt64
  ) {
    let posted = PostedMessage(message: message, subject: nil)
    if registry.postInPlace(message, posted, post, to: topic, wide: wide, limit) { return }
    postAlongRoute(message, post, topic, limit)
  }

  /// Posts to all observers that the message reaches, wherever they run.
  @inline(never)
  private func postAlongRoute<M: Message>(
    _ message: M, _ post: borrowing Post, _ topic: Topic?, _ limit: UInt64
  ) {
    let isWide = !wide.isEmpty
    let audience = Audience(registry, topic, wide: isWide ? wide : nil, limit)
    if isWide {
      WideValue.with(PostedMessage(message: message, subject: post.subjectID)) {
        registry.post(message, $0, post, to: audience)
      }
    } else {
      registry.post(message, WideValue.absent, post, to: audience)
    }
  }
}
