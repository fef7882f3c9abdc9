import Campanile

extension KVORequest {
  /// Registers an observer at the evaluation that there is for its key path, or at a new one, and makes the
  /// initial call if one was asked for.
  ///
  /// - Parameters:
  ///   - object: What is observed.
  ///   - read: Reads the value.
  ///   - owner: Whose end ends the registration, and its lifetime, if it has one.
  ///   - enter: Is handed the registration before the observer can be called; says whether it is to be.
  ///   - onEnd: What happens once the registration has ended.
  ///   - make: Makes what is called, of the seat of the observer and the object.
  /// - Returns: The registration, and whether there is something to observe; if not, it has ended.
  func observe<Object: AnyObject, Value>(
    _ object: Object, _ read: @escaping (Object) -> Value, owner: AnyObject? = nil,
    lifetime: OwnerLifetime = OwnerLifetime(),
    _ enter: (Registration, OwnerReference<Object>) -> Bool = { _, _ in true },
    onEnd: (@Sendable () -> Void)? = nil,
    _ make: (ObserverSeat, OwnerReference<Object>) -> (KVOChange<Value>) throws -> Void
  ) -> (registration: Registration, isObserved: Bool) {
    let collector = ReadCollector()
    let value = collector.collect { read(object) }
    let reads = collector.take()
    let known: KeyPathEvaluation<Object, Value>? = find(object, in: reads)
    let evaluation = known ?? KeyPathEvaluation(self, object, read)
    if known == nil { _ = evaluation.open() }
    let seat = ObserverSeat(evaluation, self)
    let registration = evaluation.changes.addConfined(
      owner: owner, lifetime: lifetime, file: file, line: line, onEnd: onEnd,
      make(seat, evaluation.root))
    seat.take(registration)
    // It may be observed in its deinit.
    if !enter(registration, evaluation.root) || evaluation.root.object == nil {
      registration.cancel()
      return (registration, true)
    }
    evaluation.begin(seat, registration, known == nil ? reads : nil, value)
    // Who has made an evaluation that is known may still be about to follow what it was found at.
    let isObserved = known != nil || evaluation.followsSomething
    if !isObserved { registration.cancel() }
    return (registration, isObserved)
  }

  /// The evaluation of the same key path, which is found at the first property that it reads, and open.
  private func find<Object: AnyObject, Value>(
    _ object: Object, in reads: [ReadCollector.Read]
  ) -> KeyPathEvaluation<Object, Value>? {
    if !isShared { return nil }
    let id = ObjectIdentifier(object)
    guard let first = reads.first(where: { $0.property.subject.id == id }) ?? reads.first else {
      return nil
    }
    for follower in first.property.currentFollowers {
      let known = follower.evaluation
      if known.isOf(self, rootID: id), let known = known as? KeyPathEvaluation<Object, Value>,
        known.open()
      {
        return known
      }
    }
    return nil
  }
}

extension KeyPathEvaluation {
  /// - Parameters:
  ///   - reads: What was read, if nothing is followed yet.
  ///   - value: The value that was read.
  fileprivate func begin(
    _ seat: ObserverSeat, _ registration: Registration, _ reads: [ReadCollector.Read]?,
    _ value: Value
  ) {
    guard let root = root.object else { return }
    var value = value
    if let reads {
      start {
        if !follow(reads, isOwn: { $0 == type(of: root) }) { value = readAndFollow(root) }
      }
    }
    if !seat.wishes.contains(.initial) { return }
    let isOutdated = seat.forget()
    if handsOver {
      let exact = readExactly(with: ReadCollector()) { read(root) }
      value = exact.value
      seat.floor = exact.number
    } else if request.isForAnyThread || isOutdated {
      value = asOldReader { read(root) }
    }
    seat.comesAfter(begun)
    seat.begin(with: value, at: request.path) { change in
      Scope.withObservers { changes.post(change, onlyTo: registration) }
    }
  }
}
