extension MessageCenter {
  /// Observes the messages of a type, and what they are about, where they are posted.
  ///
  /// For what carries messages on, a bridge or a relay: the subject need not be Sendable, since it
  /// stays on the poster's thread, and the delivery can be held open.
  package func observeInPlace<M: Message>(
    _ type: M.Type, file: StaticString, line: UInt,
    _ observer: @escaping @Sendable (M, M.Subject?, borrowing CarriedPost) throws -> Void
  ) -> Registration {
    let body = ObserverBody<M>(
      .carrier { message, post in
        // The subject of a message of type M is an M.Subject: `post` takes no other.
        try observer(message, post.subject.map { $0 as! M.Subject }, post)
      })
    let request = ObservationRequest(.unbounded, SourceLocation(file: file, line: line))
    return register(request, body, SourceOptions<M>())
  }
}
