extension StateBase {
  /// Registers a reader.
  ///
  /// - Parameter make: Makes an element of what the reader knew and the new value.
  func makeReader<Read: Sendable>(
    _ buffer: SequenceBuffer, _ request: consuming ObservationRequest,
    _ following: Following<Value>,
    _ make: @escaping @Sendable (Value?, Value) -> Read
  ) -> ValueSequence<Read>.Reader {
    let body = ObserverBody<StateUpdate<Value>>(filling: buffer) { update in
      guard following.isNew(update.revision) else { return }
      buffer.append(update)
      if following.isOver { throw ObservationIsOver() }
    }
    let registration = follow(request, following, body)
    return .init(buffer, registration) { reader in
      while let update: StateUpdate<Value> = await reader.buffer.next() {
        var element: Read?
        following.pass(update.value) { element = make($0, $1) }
        guard let element else { continue }
        if following.isOnce {
          reader.buffer.finish(isCancelled: true)
          reader.registration.cancel()
        }
        return element
      }
      return nil
    }
  }

  func makeReader(
    _ buffer: SequenceBuffer, _ request: consuming ObservationRequest
  ) -> ValueSequence<Value>.Reader {
    makeReader(buffer, request, Following(request.takeOptions())) { $1 }
  }
}
