import Campanile
import Synchronization

/// Follows a key path of one object: reads its values, and posts its changes to its observers.
final class KeyPathEvaluation<Root: AnyObject, Value>: Evaluation {
  /// Those who are told.
  let changes: SourceList<KVOChange<Value>>
  private let untyped: UntypedSourceList
  let root: OwnerReference<Root>
  let read: (Root) -> Value

  init(_ request: KVORequest, _ root: Root, _ read: @escaping (Root) -> Value) {
    changes = SourceRegistry.inCommonOrder.makeList(of: KVOChange<Value>.self)
    untyped = changes.untyped
    self.root = OwnerReference(root)
    self.read = read
    super.init(request, root: root)
  }

  deinit { changes.close() }

  // MARK: Reading

  func readAndFollow(_ root: Root) -> Value {
    follow({ read(root) }, isOwn: { $0 == type(of: root) })
  }

  @inline(__always)
  private func readDirectly(_ root: Root) -> Value {
    if handsOver { return readNumbered(root) }
    let value = read(root)
    // Said before the first value is stored.
    return handsOver ? readNumbered(root) : value
  }

  @inline(never)
  private func readNumbered(_ root: Root) -> Value {
    readToTell { read(root) }
  }

  func readOnly(_ root: Root) -> Value {
    isDirect ? read(root) : asOldReader { read(root) }
  }

  override var newest: AnyObject? { root.object.map { OldValue(readOnly($0)) } }

  override func finish() { changes.finish() }

  // MARK: Telling

  override func readOld(_ report: inout ChangeReport) -> AnyObject? {
    guard !changes.isEmpty, let root = root.object else { return nil }
    let needsOld = state.needsOld
    if !needsOld, let edit = report.edit, edit.isOf(Value.self, isDirect: isDirect) { return nil }
    let value = readOnly(root)
    if let edit = report.edit, !isPlaced(edit, atBeginning: true, { $0.begins(with: value) }) {
      report.dropEdit()
    }
    if !needsOld { return nil }
    let old = OldValue(value)
    priorMark.store(state.count, ordering: .relaxed)
    if state.needsPrior {
      let change = KVOChange(
        .prior, report.edit?.edit.deed, old: value, new: value, path: request.path,
        changed: report.changed)
      Scope.withObservers { changes.post(change) }
    }
    return old
  }

  override func deliver(_ report: ChangeReport) {
    if isUnheard { return }
    guard let change = change(for: report) else { return }
    if Scope.isAnyOpen {
      Scope.withObservers { changes.post(change) }
    } else {
      changes.post(change)
    }
  }

  /// Whether nobody hears of a change, and the path need not be followed either.
  private var isUnheard: Bool { isDirect ? changes.isEmpty : isOver }

  override func followAnew(after report: ChangeReport) {
    if !isDirect && !isOver { _ = change(for: report) }
  }

  override func deliver(_ path: KVOPath) {
    if isUnheard { return }
    var root = root.object
    if root == nil { return }
    let value = isDirect ? read(root!) : readAndFollow(root!)
    // Not kept in the calls, the first of which can let go of it.
    root = nil
    post(value, isDirect ? nil : ChangedPaths(path))
  }

  override func deliver<Change, Member>(_ change: Change, of type: Member.Type) {
    // The property of a direct key path has its type.
    precondition(Member.self == Value.self, "A property changed its type")
    state.clear()
    untyped.post(change)
  }

  private func post(_ value: Value, _ changed: ChangedPaths?) {
    state.clear()
    changes.post(KVOChange(.changed, nil, new: value, path: request.path, changed: changed))
  }

  override func preparation(of report: ChangeReport) -> (ClosedRange<UInt64>) -> Void {
    var change: KVOChange<Value>?
    var isMade = false
    return { [self] range in
      // Read when its turn comes: those before can make further changes.
      if !isMade && !isUnheard { change = self.change(for: report) }
      isMade = true
      if let change { Scope.withObservers { changes.post(change, in: range) } }
    }
  }

  override func firstObserver(from id: UInt64) -> UInt64? { changes.first(from: id) }

  /// What is told of a change; `nil` if its value has been told.
  private func change(for report: ChangeReport) -> KVOChange<Value>? {
    guard let root = root.object else { return nil }
    if let values = report.values, isDirect { return change(of: values, report) }
    state.number = 0
    let new = isDirect ? readDirectly(root) : readAndFollow(root)
    if handsOver { raiseFloor() }
    var edit: CollectionEdit?
    if let announced = report.edit, isPlaced(announced, atBeginning: false, { $0.ends(with: new) }),
      announced.edit.mayEnd(with: new)
    {
      edit = announced.edit
    }
    let old = report.old == nil ? nil : old(of: report)
    if state.isCompared { compare(OldValue(new), with: report.known) }
    state.isEdit = edit != nil
    return makeChange(old, new, report, edit)
  }

  // Apart, like that below: a function looks up the types that it names, whether it comes to use them or
  // not.
  @inline(never)
  private func old(of report: ChangeReport) -> OldValue<Value>? {
    // What `readOld` made.
    report.old as? OldValue<Value>
  }

  /// What is told of a change whose values the class has handed over.
  @inline(never)
  private func change(of box: AnyObject, _ report: ChangeReport) -> KVOChange<Value>? {
    guard let values = box as? ValuesOfChange<Value>, !isTold(values.number) else { return nil }
    state.number = values.number
    let old = state.needsOld ? OldValue(values.old) : nil
    // A setter can do more than to set.
    let edit = report.edit?.edit
    if state.isCompared { compare(OldValue(values.new), with: old) }
    let made = edit?.mayEnd(with: values.new) == true ? edit : nil
    state.isEdit = made != nil
    return makeChange(old, values.new, report, made)
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

  private func makeChange(
    _ old: OldValue<Value>?, _ new: Value, _ report: ChangeReport, _ edit: CollectionEdit?
  ) -> KVOChange<Value> {
    KVOChange(
      .changed, edit?.deed, old: old?.value ?? new, new: new, hasOld: old != nil,
      path: request.path, changed: report.changed)
  }
}
