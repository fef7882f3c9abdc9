import Campanile

/// Follows a key path of one object: reads its values, and posts its changes to a list of its own.
final class KeyPathObservation<Root: AnyObject, Value>: PathObservation {
  /// Those who are told.
  let changes: SourceList<KVOChange<Value>>
  private weak let root: Root?
  private let readValue: (Root) -> Value
  private let options: KVOChange<Value>.Options

  init(
    _ request: KVORequest<Root, Value>, owner: AnyObject?, upstream: Upstream,
    onError: (@Sendable (ObserverFailure) -> Void)?
  ) {
    let registry = SourceRegistry(onError: onError)
    changes = registry.makeList(of: KVOChange<Value>.self)
    root = request.object
    readValue = request.read
    options = request.options
    super.init(request.traits, root: request.object, owner: owner, upstream: upstream, registry)
  }

  deinit { changes.finish() }

  /// Begins to follow, and makes the initial call if one was asked for.
  ///
  /// - Returns: Whether there is something to follow; if not, the caller ends the observation.
  func start(for registration: Registration?) -> Bool {
    guard let root else {
      changes.finish()
      return true
    }
    reserve(isInitial: options.isInitial)
    var isExact = false
    var value = readAndFollow(root, &isExact)
    let isObserved = followsSomething
    if isDirect && !isExact {
      value = readDirectly(root)
      raiseFloor()
    }
    if options.isInitial, let registration {
      let change = KVOChange(initial: value, at: traits.path)
      Scope.withObservers { changes.post(change, onlyTo: registration) }
    }
    open()
    return isObserved
  }

  private func readAndFollow(_ root: Root) -> Value {
    var isExact = false
    return readAndFollow(root, &isExact)
  }

  private func readAndFollow(_ root: Root, _ isExact: inout Bool) -> Value {
    var value: Value?
    isExact = follow({ value = readValue(root) }, isOwn: { $0 == type(of: root) })
    // `follow` runs its closure at least once.
    return value!
  }

  @inline(__always)
  private func readDirectly(_ root: Root) -> Value {
    if handsOver { return readNumbered(root) }
    let value = readValue(root)
    // Said before the first value is stored.
    return handsOver ? readNumbered(root) : value
  }

  @inline(never)
  private func readNumbered(_ root: Root) -> Value {
    var value: Value?
    readExactly { value = readValue(root) }
    return value!
  }

  private func readOnly(_ root: Root) -> Value {
    var value: Value?
    asOldReader { value = readValue(root) }
    return value!
  }

  override var end: @Sendable () -> Void {
    { [changes] in changes.finish() }
  }

  // MARK: Telling

  override func readOld(_ report: inout Report) -> AnyObject? {
    guard let root else { return nil }
    if !traits.needsOld, let edit = report.edit, edit.isOf(Value.self, isDirect: isDirect) {
      return nil
    }
    let value = isDirect ? readValue(root) : readOnly(root)
    if let edit = report.edit, !isPlaced(edit, atBeginning: true, { $0.begins(with: value) }) {
      report.dropEdit()
    }
    if !traits.needsOld { return nil }
    let old = OldValue(value)
    if options.isPrior { post(.prior, old, value, report, report.edit?.edit) }
    return old
  }

  override func deliver(_ report: Report) {
    guard let root else { return }
    if let values = report.values, isDirect { return deliver(values, report) }
    let new = isDirect ? readDirectly(root) : readAndFollow(root)
    if let areEqual = options.areEqual, isRepetition(report, of: new, areEqual) { return }
    if handsOver { raiseFloor() }
    var edit: CollectionEdit?
    if let announced = report.edit, isPlaced(announced, atBeginning: false, { $0.ends(with: new) }),
      announced.edit.mayEnd(with: new)
    {
      edit = announced.edit
    }
    if report.old == nil {
      post(.changed, nil, new, report, edit)
    } else {
      postWithOld(new, report, edit)
    }
  }

  // Apart, like those below: a function looks up the types that it names, whether it comes to use them or
  // not.
  @inline(never)
  private func postWithOld(_ new: Value, _ report: Report, _ edit: CollectionEdit?) {
    // What `readOld` made.
    post(.changed, report.old as? OldValue<Value>, new, report, edit)
  }

  /// Whether the observer knows the value that is to be told.
  @inline(never)
  private func isRepetition(
    _ report: Report, of new: Value, _ areEqual: (Value, Value) -> Bool
  ) -> Bool {
    // Compared with what the observer knows: overlapping changes tell one another's values.
    if let known = report.known as? OldValue<Value>, areEqual(known.value, new) { return true }
    keepTold { OldValue(new) }
    return false
  }

  /// Tells a change whose values the class has handed over.
  @inline(never)
  private func deliver(_ box: AnyObject, _ report: Report) {
    guard let values = box as? ValuesOfChange<Value>, !isTold(values.number) else { return }
    if let areEqual = options.areEqual {
      if areEqual(values.old, values.new) { return }
      keepTold { OldValue(values.new) }
    }
    let old = options.wantsOld ? OldValue(values.old) : nil
    // A setter can do more than to set.
    let edit = report.edit?.edit
    post(.changed, old, values.new, report, edit?.mayEnd(with: values.new) == true ? edit : nil)
  }

  /// Whether an edit's places are those of a value that has been read.
  ///
  /// - Parameters:
  ///   - atBeginning: Whether the change is not made yet.
  ///   - isItsOwn: Compares the value with the edit's, if it was read along a key path that may lead
  ///     anywhere.
  private func isPlaced(
    _ edit: AnnouncedEdit, atBeginning: Bool, _ isItsOwn: (CollectionEdit) -> Bool
  ) -> Bool {
    guard edit.isOf(Value.self, isDirect: isDirect) else { return isItsOwn(edit.edit) }
    return edit.isWhole(atBeginning: atBeginning)
  }

  private func post(
    _ step: ChangeStep, _ old: OldValue<Value>?, _ new: Value, _ report: Report,
    _ edit: CollectionEdit?
  ) {
    let change = KVOChange(
      step, edit?.deed, new: new, path: traits.path, changed: report.changed,
      oldValue: options.wantsOld ? old : nil)
    if Scope.isAnyOpen {
      Scope.withObservers { changes.post(change) }
    } else {
      changes.post(change)
    }
  }
}
