extension MessageCenter {
  /// Observes the messages of a type where they are posted.
  ///
  /// For what carries messages on, a bridge or a relay: the subject need not be Sendable, since it
  /// stays on the poster's thread, and the delivery can be held open.
  package func observeInPlace<M: Message>(
    _ type: M.Type, file: StaticString, line: UInt,
    _ observer: @escaping @Sendable (M, borrowing Post) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(.unbounded, SourceLocation(file: file, line: line))
    return register(request, ObserverBody<M>(.carrier(observer)), SourceOptions<M>())
  }
}

extension Post {
  /// What a message of a type is about.
  package borrowing func subject<M: MessageCenter.Message>(of type: M.Type) -> M.Subject? {
    // The subject of a message of type M is an M.Subject: `post` takes no other.
    subject.map { $0 as! M.Subject }
  }
}
