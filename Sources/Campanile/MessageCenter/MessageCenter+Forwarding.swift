extension MessageCenter {
  /// Observes the messages of a type where they are posted.
  ///
  /// It is for code that forwards messages, such as a bridge or a relay. The subject need not be
  /// Sendable, since it stays on the poster's thread. The delivery can be held open.
  package func observeInPlace<M: Message>(
    _ type: M.Type, file: StaticString, line: UInt,
    _ observer: @escaping @Sendable (M, Post) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(CallSite(file: file, line: line))
    return register(request, ObserverBody(inPlace: observer))
  }

  /// Posts a message that came through other centers, which are in ``Post/path``.
  ///
  /// - Parameter tracker: Waits for the deliveries; `nil` without a caller that waits.
  package func post<M: Message>(
    _ message: M, about subject: M.Subject?, along path: [PathStep],
    trackedBy tracker: DeliveryTracker? = nil
  ) {
    find(message, Post(subject).along(path).tracked(by: tracker))
  }
}

extension Post {
  /// The subject of a message of a type.
  package borrowing func subject<M: MessageCenter.Message>(of type: M.Type) -> M.Subject? {
    // The subject of a message of type M is an M.Subject: `post` takes no other.
    subject.map { $0 as! M.Subject }
  }
}
