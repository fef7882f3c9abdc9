import Campanile
import Synchronization

/// A change of a `Value`: always a `KVOChange<Value>`.
///
/// Code that is generic over the change knows its type, and need not look it up at each change.
protocol ChangeOfValue<Value> {
  associatedtype Value

  init(
    _ step: ChangeStep, _ deed: CollectionEdit.Deed?, old: Value, new: Value, hasOld: Bool,
    path: KVOPath, changed: ChangedPaths?)
}

extension KVOChange: ChangeOfValue {}

/// Follows a key path of one object: reads its values, and posts its changes to its observers.
final class KeyPathEvaluation<Root: AnyObject, Value, Change: ChangeOfValue<Value>>: Evaluation {
  /// The list of observers.
  let changes: SourceList<Change>
  private let untyped: UntypedSourceList
  let root: OwnerReference<Root>
  let read: (Root) -> Value

  init(_ request: KVORequest, _ root: Root, _ read: @escaping (Root) -> Value) {
    changes = SourceRegistry.inCommonOrder.makeList(of: Change.self)
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
    // The class says so before it stores the first value.
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

  /// The object, unless it has died.
  ///
  /// If no observed property of the object is on the key path, its death is noticed only here.
  private var living: Root? {
    let root = root.object
    if root == nil { finish() }
    return root
  }

  // MARK: Delivering

  override func readOld(_ report: inout ChangeReport, _ prior: inout PriorCall?) -> AnyObject? {
    guard !changes.isEmpty, let root = living else { return nil }
    let needsOld = state.needsOld
    let needsPrior = needsOld && state.needsPrior
    if needsPrior { beginPrior() }
    if !needsOld, let edit = report.edit, edit.isOf(Value.self, isDirect: isDirect) { return nil }
    let value: Value =
      isDirect
      ? read(root)
      : needsOld ? asOldReader { read(root) } : asReaderBeforeChange { read(root) }
    if let edit = report.edit, !isPlaced(edit, atBeginning: true, { $0.begins(with: value) }) {
      report.dropEdit()
    }
    if !needsOld { return nil }
    let old = OldValue(value)
    if needsPrior {
      let change = Change(
        .prior, report.edit?.edit.deed, old: value, new: value, hasOld: true, path: request.path,
        changed: report.changed)
      // Who is added meanwhile receives the next change.
      let newest = SourceRegistry.newestID
      prior = { [self] link in
        defer { endPrior() }
        if link.hasEnded || isDeferred { return }
        Scope.withObservers { changes.post(change, in: 0...newest) }
      }
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

  /// Whether a change has no observer, and the path need not be followed either.
  private var isUnheard: Bool { changes.isEmpty && (isDirect || isOver) }

  override func followAnew(after report: ChangeReport) {
    if !isDirect && !isOver { _ = change(for: report) }
  }

  override func deliver(_ path: KVOPath) {
    if isUnheard { return }
    var root = living
    if root == nil { return }
    let value = isDirect ? read(root!) : readAndFollow(root!)
    // Not kept during the calls: the first observer may release the object.
    root = nil
    post(value, isDirect ? nil : ChangedPaths(path))
  }

  override func deliver<Made, Member>(_ change: Made, of type: Member.Type) {
    // The property of a direct key path has the value's type.
    require(Member.self == Value.self, "A property changed its type")
    state.clear()
    untyped.post(change)
  }

  private func post(_ value: Value, _ changed: consuming ChangedPaths?) {
    state.clear()
    changes.post(
      Change(
        .changed, nil, old: value, new: value, hasOld: false, path: request.path, changed: changed))
  }

  override func preparation(of report: ChangeReport) -> (ClosedRange<UInt64>) -> Void {
    var change: Change?
    var isMade = false
    return { [self] range in
      // Read when its turn comes, since earlier observers may make further changes.
      if !isMade && !isUnheard { change = self.change(for: report) }
      isMade = true
      if let change { Scope.withObservers { changes.post(change, in: range) } }
    }
  }

  override func firstObserver(from id: UInt64) -> UInt64? { changes.first(from: id) }

  /// The change to deliver; `nil` if its value has been delivered.
  private func change(for report: ChangeReport) -> Change? {
    guard let root = living else { return nil }
    if let values = report.values, isDirect { return change(of: values, report) }
    state.number = 0
    let new = isDirect ? readDirectly(root) : readAndFollow(root)
    if handsOver { raiseFloor() }
    if let transactions = report.outlasted, state.needsOld {
      let old = OldValue(new)
      let replaced = keeper.withLock { $0.keepOld(old, after: transactions) }
      withExtendedLifetime(replaced) {}
    }
    var edit: CollectionEdit?
    if let announced = report.edit, isPlaced(announced, atBeginning: false, { $0.ends(with: new) }),
      announced.edit.mayEnd(with: new)
    {
      edit = announced.edit
    }
    let old = report.old == nil ? nil : old(of: report)
    if state.isCompared { compare(OldValue(new), with: report.known, before: report.knownBefore) }
    state.isEdit = edit != nil
    return makeChange(old, new, report, edit)
  }

  // Separate functions, here and below: a function looks up all types that it names, even if it
  // does not use them.
  @inline(never)
  private func old(of report: ChangeReport) -> OldValue<Value>? {
    // The box that `readOld` made.
    report.old as? OldValue<Value>
  }

  /// The change to deliver, with values that the class provided.
  @inline(never)
  private func change(of box: AnyObject, _ report: ChangeReport) -> Change? {
    guard let values = box as? ValuesOfChange<Value>, !isTold(values.number) else { return nil }
    state.number = values.number
    let old = state.needsOld ? OldValue(values.old) : nil
    // A setter may store something else than it was given.
    let edit = report.edit?.edit
    // The class has read it for this very change.
    if state.isCompared { compare(OldValue(values.new), with: old, before: .max) }
    let made = edit?.mayEnd(with: values.new) == true ? edit : nil
    state.isEdit = made != nil
    return makeChange(old, values.new, report, made)
  }

  /// Whether the indexes of an edit are valid for a value that has been read.
  ///
  /// - Parameters:
  ///   - atBeginning: Whether the change has not been made yet.
  ///   - isItsOwn: Compares the value with that of the edit. Called if the key path isn't the
  ///     edited property itself.
  private func isPlaced(
    _ edit: AnnouncedEdit, atBeginning: Bool, _ isItsOwn: (CollectionEdit) -> Bool
  ) -> Bool {
    guard edit.isOf(Value.self, isDirect: isDirect) else { return isItsOwn(edit.edit) }
    return edit.isWhole(atBeginning: atBeginning)
  }

  private func makeChange(
    _ old: OldValue<Value>?, _ new: Value, _ report: ChangeReport, _ edit: CollectionEdit?
  ) -> Change {
    Change(
      .changed, edit?.deed, old: old?.value ?? new, new: new, hasOld: old != nil,
      path: request.path, changed: report.changed)
  }
}
