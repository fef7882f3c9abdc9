import Campanile

/// Registering observers.
extension KeyPathEvaluation {
  /// Registers an observer at the evaluation that there is for its key path, or at a new one, and makes the
  /// initial call if one was asked for.
  ///
  /// - Parameters:
  ///   - owner: Whose end ends the registration.
  ///   - onEnd: What happens once the registration has ended.
  ///   - enter: Is handed the registration before the observer can be called; says whether it is to be.
  /// - Returns: The registration, and whether there is something to observe; if not, it has ended.
  static func observe(
    _ request: KVORequest<Root, Value>, owner: AnyObject?,
    _ enter: (Registration) -> Bool = { _ in true }, onEnd: (@Sendable () -> Void)? = nil,
    _ observer: @escaping (KVOChange<Value>) throws -> Void
  ) -> (registration: Registration, isObserved: Bool) {
    let collector = ReadCollector()
    let value = collector.collect { request.read(request.object) }
    let reads = collector.take()
    let known = find(request, in: reads)
    let evaluation = known ?? KeyPathEvaluation(request)
    if known == nil { _ = evaluation.open() }
    let seat = ObserverSeat(evaluation, request.options)
    // Before it can be called: it is told what begins from here on.
    evaluation.join(seat)
    seat.floor = evaluation.revision
    let registration = evaluation.changes.addConfined(
      owner: owner, file: request.file, line: request.line, onEnd: onEnd
    ) { change in
      if seat.isOpen() {
        try observer(change)
      } else {
        try seat.call(observer, change)
      }
    }
    seat.take(registration)
    if !enter(registration) {
      registration.cancel()
      return (registration, true)
    }
    guard evaluation.root.object != nil else {
      // Observed in its deinit.
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
  private static func find(
    _ request: KVORequest<Root, Value>, in reads: [ReadCollector.Read]
  ) -> KeyPathEvaluation? {
    if !request.isShared { return nil }
    let id = ObjectIdentifier(request.object)
    guard let first = reads.first(where: { $0.property.subject.id == id }) ?? reads.first else {
      return nil
    }
    for one in first.property.evaluations {
      if one.isOf(request.path, rootID: id, isOnMain: request.isOnMain),
        let evaluation = one as? KeyPathEvaluation, evaluation.open()
      {
        return evaluation
      }
    }
    return nil
  }

  /// - Parameters:
  ///   - reads: What was read, if nothing is followed yet.
  ///   - value: The value that was read.
  private func begin(
    _ seat: ObserverSeat<Root, Value>, _ registration: Registration,
    _ reads: [ReadCollector.Read]?, _ value: Value
  ) {
    guard let root = root.object else { return }
    var value = value
    if let reads {
      start {
        if !follow(reads, isOwn: { $0 == type(of: root) }) { value = readAndFollow(root) }
      }
    }
    if !seat.isInitial { return }
    let isOutdated = seat.forget()
    if handsOver {
      let (read, number) = readExactly(with: ReadCollector()) { readValue(root) }
      value = read
      seat.floor = number
    } else if traits.isForAnyThread || isOutdated {
      value = asOldReader { readValue(root) }
    }
    join(seat)
    seat.begin(with: value, at: traits.path) { change in
      Scope.withObservers { changes.post(change, onlyTo: registration) }
    }
  }
}
