extension MessageCenter {
  /// Observes the messages of a type, and what they are about, where they are posted.
  ///
  /// For a bridge: the subject need not be Sendable, since it stays on the poster's thread.
  package func observeInPlace<M: Message>(
    _ type: M.Type, file: StaticString, line: UInt,
    _ observer: @escaping @Sendable (M, M.Subject?) throws -> Void
  ) -> Registration {
    let body = ObserverBody<M>(
      .told { message, subject in
        // The subject of a message of type M is an M.Subject: `post` takes no other.
        try observer(message, subject.map { $0 as! M.Subject })
      })
    let request = ObservationRequest(.unbounded, SourceLocation(file: file, line: line))
    return register(request, body, SourceOptions<M>())
  }
}
