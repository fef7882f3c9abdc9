import Campanile
import Synchronization

private typealias Shared<Root: AnyObject, Value> = KeyPathEvaluation<Root, Value, KVOChange<Value>>

/// The properties that were read for the value of a key path, and the value.
///
/// The value is behind a closure, because an optional of a generic type costs 600 instructions.
private typealias First<Value> = (reads: [ReadCollector.Read], value: () -> Value)

extension KVORequest {
  /// Registers an observer at the evaluation of its key path, and makes the initial call if it was
  /// asked for.
  ///
  /// - Parameters:
  ///   - object: The observed object.
  ///   - makeRead: Makes the closure that reads the value, if the key path has no evaluation yet.
  ///   - owner: The owner, whose end ends the registration.
  ///   - lifetime: The lifetime of the owner, if it has one.
  ///   - enter: Receives the registration before the initial call. Returns whether to continue.
  ///   - onEnd: Called once the registration has ended.
  ///   - make: Makes the observer, given its gate and the object.
  /// - Returns: The registration, and whether there is something to observe. If there is nothing,
  ///   a warning has been written, and the registration has ended.
  func observe<Object: AnyObject, Value>(
    _ object: Object, reading makeRead: () -> (Object) -> Value,
    owner: OwnerReference<AnyObject>? = nil,
    lifetime: EndActions? = nil,
    _ enter: (Registration, OwnerReference<Object>) -> Bool = { _, _ in true },
    onEnd: (@Sendable () -> Void)? = nil,
    _ make: (ObserverGate, OwnerReference<Object>) -> (KVOChange<Value>) throws -> Void
  ) -> (registration: Registration, isObserved: Bool) {
    let evaluation: Shared<Object, Value>
    // The first value, unless the evaluation is direct and exists already.
    let first: First<Value>?
    if isShared, let found = DirectEvaluations.find(ObjectIdentifier(object), self),
      let known: Shared<Object, Value> = pin(found, of: object)
    {
      (evaluation, first) = (known, nil)
    } else {
      let read = makeRead()
      let collector = ReadCollector()
      let value = collector.collect { read(object) }
      evaluation = self.evaluation(of: object, collector.reads, read)
      first = (collector.reads, { value })
    }
    let gate = ObserverGate(evaluation, self)
    evaluation.add(wishes)
    let registration = evaluation.changes.addConfined(
      owner: owner, lifetime: lifetime, file: file, line: line, onEnd: onEnd,
      make(gate, evaluation.root))
    evaluation.unpin()
    gate.take(registration)
    // The object may be observed in its deinit.
    if !enter(registration, evaluation.root) || evaluation.root.object == nil {
      registration.cancel()
      return (registration, true)
    }
    let isInitial = wishes.contains(.initial)
    if isInitial || evaluation.isStale || evaluation.needsOld {
      evaluation.begin(gate, registration, object, first, isInitial: isInitial)
    }
    let isObserved = first?.reads.isEmpty != true
    if !isObserved {
      registration.cancel()
      Platform.writeToStandardError(
        "\(file):\(line): \(path) of \(type(of: object)) reads no property that can be observed, "
          + "so its observer is never called")
    }
    return (registration, isObserved)
  }

  /// The evaluation of the key path, pinned, which is new if there was none.
  private func evaluation<Object: AnyObject, Value>(
    of object: Object, _ reads: [ReadCollector.Read], _ read: @escaping (Object) -> Value
  ) -> Shared<Object, Value> {
    let id = ObjectIdentifier(object)
    let first = reads.first { $0.property.subject.id == id } ?? reads.first
    guard isShared, let property = first?.property else {
      return Shared(self, object, isDirect: false, read)
    }
    // Not in a subclass, which can override the property and read others.
    let isDirect =
      reads.count == 1 && property.subject.id == id && property.path == path
      && path.identity.rootType == type(of: object)
    for found in isDirect ? [] : property.followers where found.serves(self, rootID: id) {
      if let known: Shared<Object, Value> = pin(found, of: object) { return known }
    }
    let made = Shared(self, object, isDirect: isDirect, read)
    if !isDirect { return made }
    while true {
      let kept = property.keep(made)
      if kept === made { DirectEvaluations.add(made) }
      // The property keeps another one if the path is also observed on the main actor, or in its
      // object's deinit.
      if kept === made || !kept.serves(self, rootID: id) { return made }
      if let known: Shared<Object, Value> = pin(kept, of: object) { return known }
    }
  }

  /// Pins an evaluation of the same key path, unless it is retired or of an earlier object at the
  /// address.
  private func pin<Object: AnyObject, Value>(
    _ found: Evaluation, of object: Object
  ) -> Shared<Object, Value>? {
    // Equal key paths have the same types, and these are the types of the evaluation.
    let known = known(found, as: Shared<Object, Value>.self)
    return known.root.refers(to: object) && known.pin() ? known : nil
  }
}

extension KeyPathEvaluation where Change == KVOChange<Value> {
  /// Follows what was read, reads the value that observers of old values know, and makes the initial
  /// call.
  fileprivate func begin(
    _ gate: ObserverGate, _ registration: Registration, _ object: Root, _ first: First<Value>?,
    isInitial: Bool
  ) {
    if request.isForAnyThread {
      teller.add { [self] in
        if let first {
          followIfStale(first.reads)
        } else if !isFollowing, let root = root.object {
          // The thread that has made the evaluation has not followed it yet.
          _ = follow { read(root) }
        }
        if isInitial || needsOld, let root = root.object {
          let (value, number) = firstValue(of: root)
          if isInitial { call(registration, gate, after: number, with: value) }
        }
        noteFollowed()
      }
    } else {
      if let first {
        followIfStale(first.reads)
        know(first.value())
      }
      noteFollowed()
      if isInitial {
        // Includes the changes whose calls wait.
        let value = first?.value() ?? follow { read(object) }
        teller.add { [self] in call(registration, gate, after: 0, with: value) }
      }
    }
    teller.makeCalls()
  }

  private func followIfStale(_ reads: [ReadCollector.Read]) {
    if !isStale { return }
    follow(reads)
    // Changes of a property that was followed already have been ignored, too.
    addNewest(after: reads)
  }

  private func call(
    _ registration: Registration, _ gate: ObserverGate, after number: UInt, with value: Value
  ) {
    gate.open(after: number)
    let change = KVOChange(initial: value, at: request.path)
    Scope.withObservers { changes.post(change, onlyTo: registration) }
  }
}
