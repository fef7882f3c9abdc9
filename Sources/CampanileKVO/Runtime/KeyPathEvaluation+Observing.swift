import Campanile
import Synchronization

private typealias Shared<Root: AnyObject, Value> = KeyPathEvaluation<Root, Value, KVOChange<Value>>

extension KVORequest {
  /// Registers an observer at the existing evaluation of its key path, or at a new one.
  ///
  /// Makes the initial call if it was asked for.
  ///
  /// - Parameters:
  ///   - object: The observed object.
  ///   - makeRead: Makes the closure that reads the value, if the key path has no evaluation yet.
  ///   - owner: The owner, whose end ends the registration.
  ///   - lifetime: The lifetime of the owner, if it has one.
  ///   - enter: Receives the registration before the observer can be called. Returns whether to
  ///     continue.
  ///   - onEnd: Called once the registration has ended.
  ///   - make: Makes the observer, given its seat and the object.
  /// - Returns: The registration, and whether there is something to observe. If there is nothing,
  ///   the registration has ended.
  func observe<Object: AnyObject, Value>(
    _ object: Object, reading makeRead: () -> (Object) -> Value,
    owner: OwnerReference<AnyObject>? = nil,
    lifetime: OwnerLifetime = OwnerLifetime(),
    _ enter: (Registration, OwnerReference<Object>) -> Bool = { _, _ in true },
    onEnd: (@Sendable () -> Void)? = nil,
    _ make: (ObserverSeat, OwnerReference<Object>) -> (KVOChange<Value>) throws -> Void
  ) -> (registration: Registration, isObserved: Bool) {
    func join(
      _ evaluation: Shared<Object, Value>, _ reads: [ReadCollector.Read]?,
      _ first: (Object) -> Value
    ) -> (registration: Registration, isObserved: Bool) {
      evaluation.add(self, reads, first, owner, lifetime, enter, onEnd, make)
    }

    if let known: Shared<Object, Value> = findDirect(object) {
      return join(known, nil) { known.readOnly($0) }
    }
    let read = makeRead()
    let collector = ReadCollector()
    let value = collector.collect { read(object) }
    let reads = collector.take()
    if let known: Shared<Object, Value> = find(object, in: reads) {
      return join(known, nil) { _ in value }
    }
    let made = Shared<Object, Value>(self, object, read)
    _ = made.open()
    return join(made, reads) { _ in value }
  }

  /// The evaluation of the same key path, if it is direct, and opened for one more observer.
  private func findDirect<Object: AnyObject, Value>(
    _ object: Object
  ) -> Shared<Object, Value>? {
    guard isShared, let found = DirectEvaluations.find(ObjectIdentifier(object), self) else {
      return nil
    }
    return open(found, of: object)
  }

  /// The evaluation of the same key path, found at the first property that it reads, and opened for
  /// one more observer.
  ///
  /// An evaluation that follows other properties than those that were read would miss changes of
  /// these. That is so while a change is in progress that leads the key path elsewhere, and while
  /// the evaluation begins. The observer then gets another evaluation.
  private func find<Object: AnyObject, Value>(
    _ object: Object, in reads: [ReadCollector.Read]
  ) -> Shared<Object, Value>? {
    if !isShared { return nil }
    let id = ObjectIdentifier(object)
    guard let first = reads.first(where: { $0.property.subject.id == id }) ?? reads.first else {
      return nil
    }
    for follower in first.property.currentFollowers {
      let evaluation = follower.evaluation
      guard evaluation.isOf(self, rootID: id), evaluation.follows(reads) else { continue }
      if let known: Shared<Object, Value> = open(evaluation, of: object) { return known }
    }
    return nil
  }

  /// Opens an evaluation of the same key path for one more observer.
  private func open<Object: AnyObject, Value>(
    _ found: Evaluation, of object: Object
  ) -> Shared<Object, Value>? {
    // Equal key paths have the same types, and these are the types of the evaluation.
    let known = known(found, as: Shared<Object, Value>.self)
    return known.isOf(object) && known.open() ? known : nil
  }
}

extension KeyPathEvaluation {
  /// Adds an observer, for whom the evaluation has been opened.
  ///
  /// - Parameters:
  ///   - reads: What was read, if no property is followed yet.
  ///   - first: Returns the value that was read, or reads it now.
  fileprivate func add(
    _ request: KVORequest, _ reads: [ReadCollector.Read]?, _ first: (Root) -> Value,
    _ owner: OwnerReference<AnyObject>?, _ lifetime: OwnerLifetime,
    _ enter: (Registration, OwnerReference<Root>) -> Bool, _ onEnd: (@Sendable () -> Void)?,
    _ make: (ObserverSeat, OwnerReference<Root>) -> (Change) throws -> Void
  ) -> (registration: Registration, isObserved: Bool) {
    let seat = ObserverSeat(self, request.wishes, comparing: request.areEqual)
    let registration = changes.addConfined(
      owner: owner, ownerType: owner?.object.map { type(of: $0) }, lifetime: lifetime,
      file: request.file, line: request.line, onEnd: onEnd, make(seat, root))
    seat.take(registration)
    // The object may be observed in its deinit.
    guard enter(registration, root), let object = root.object else {
      registration.cancel()
      return (registration, true)
    }
    seat.start(at: self)
    begin(seat, registration, object, reads, first)
    // An existing evaluation followed something when it was found.
    let isObserved = reads == nil || followsSomething
    if !isObserved { registration.cancel() }
    return (registration, isObserved)
  }

  /// Whether this is an evaluation of `object`, and not of an earlier object at its address.
  fileprivate func isOf(_ object: Root) -> Bool { root.refers(to: object) }

  private func begin(
    _ seat: ObserverSeat, _ registration: Registration, _ root: Root,
    _ reads: [ReadCollector.Read]?, _ first: (Root) -> Value
  ) {
    var isOutdated = false
    if let reads {
      start {
        isOutdated = follow(reads, isOwn: { $0 == type(of: root) }) != .current
        if isOutdated { _ = readAndFollow(root) }
        // Those changes were made before.
        seat.raiseFloor(to: floor.load(ordering: .relaxed))
      }
    }
    if seat.wishes.contains(.initial) { callFirst(seat, registration, root, isOutdated, first) }
  }

  // A separate function: a function reserves stack space for all its values, even if it does not
  // use them.
  @inline(never)
  private func callFirst(
    _ seat: ObserverSeat, _ registration: Registration, _ root: Root, _ isOutdated: Bool,
    _ first: (Root) -> Value
  ) {
    let isOutdated = seat.forget() || isOutdated
    let value = firstValue(for: seat, root, isOutdated, first)
    seat.comesAfter(begun)
    seat.begin(with: value, at: request.path) { change in
      let change = same(change, as: Change.self)
      Scope.withObservers { changes.post(change, onlyTo: registration) }
    }
  }

  private func firstValue(
    for seat: ObserverSeat, _ root: Root, _ isOutdated: Bool, _ first: (Root) -> Value
  ) -> Value {
    if !handsOver {
      let isReadAgain = request.isForAnyThread || isOutdated
      let value = isReadAgain ? asOldReader { read(root) } : first(root)
      // The class says so before it stores the first value.
      if !handsOver { return value }
    }
    let exact = readExactly(with: ReadCollector()) { read(root) }
    seat.knows(exact.number)
    return exact.value
  }
}
