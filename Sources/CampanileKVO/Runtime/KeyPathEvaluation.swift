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

/// The values and the list of observers, which all observers of one key path of one object share.
final class KeyPathEvaluation<Root: AnyObject, Value, Change: ChangeOfValue<Value>>: Evaluation {
  let changes: SourceList<Change>
  let root: OwnerReference<Root>
  let read: (Root) -> Value
  /// The value that was reported last, if an observer needs old values.
  ///
  /// The setter of a direct key path has the old value, so there it is kept only during a change.
  private var known: OldValue<Value>?
  /// The edit in progress, if the value was the collection before the edit.
  private var edit: CollectionEdit?
  /// Whether changes may have been missed, because there was no observer; the next observer then
  /// follows what it has read.
  private let stale = Atomic<Bool>(true)

  init(_ request: KVORequest, _ root: Root, isDirect: Bool, _ read: @escaping (Root) -> Value) {
    changes = SourceList(of: Change.self)
    self.root = OwnerReference(root)
    self.read = read
    super.init(request, root: root, isDirect: isDirect)
  }

  deinit { changes.close() }

  override func finish() { changes.finish() }

  /// The object, unless it has died, which is noticed only here if none of its properties is on the
  /// key path.
  private var living: Root? {
    let root = root.object
    if root == nil { finish() }
    return root
  }

  override var isUnheard: Bool {
    if !changes.isEmpty { return false }
    if isStale { return true }
    // An observer is added before `isStale` is read: it finds what is stored here, or is found.
    stale.store(true, ordering: .sequentiallyConsistent)
    return changes.isEmpty
  }

  var isStale: Bool { stale.load(ordering: .sequentiallyConsistent) }
  func noteFollowed() { stale.store(false, ordering: .sequentiallyConsistent) }

  /// Whether the value that was reported is kept until the next change.
  private var keepsKnown: Bool { needsOld && (!isDirect || request.isForAnyThread) }

  /// Takes the value that a new observer has read as the one that was reported last.
  func know(_ value: Value) {
    if keepsKnown && (known == nil || isStale) { known = OldValue(value) }
  }

  /// The value that an observer of a shared object begins with, and the number of the change that
  /// has stored it, read in the turn of the calling thread.
  func firstValue(of root: Root) -> (Value, UInt) {
    // The waiting call would report what is read now.
    makeNewestCall()
    let value = follow { read(root) }
    let exactNumber = isDirect ? exactNumber : nil
    // A change since the last call is reported after this one.
    if exactNumber == nil, let known, !isStale { return (known.value, 0) }
    know(value)
    return (value, exactNumber ?? 0)
  }

  // MARK: Objects that stay in one isolation

  override func noteBeginning(of property: ObservedProperty, _ edit: CollectionEdit?) {
    if changes.isEmpty { return }
    guard let root = living else { return }
    if known == nil || edit != nil {
      let value = Scope.withObservers { isDirect ? follow { read(root) } : peek { read(root) } }
      if edit?.begins(with: value) == true { self.edit = edit }
      if needsOld && known == nil { known = OldValue(value) }
    }
    if needsPrior, let known {
      report(
        Change(
          .prior, edit?.deed, old: known.value, new: known.value, hasOld: true, path: request.path,
          changed: ChangedPaths(property.path)))
    }
  }

  override func report(_ changed: ChangedPaths, _ edit: CollectionEdit?) {
    // Not kept during the calls, because an observer may release the object.
    var root = changedRoot
    if root == nil { return }
    let change = change(of: root!, changed, edit)
    root = nil
    report(change)
  }

  override func add(_ changed: ChangedPaths, _ edit: CollectionEdit?) {
    if let root = changedRoot { add(change(of: root, changed, edit)) }
  }

  override func report<Made, Member>(_ change: Made, of type: Member.Type) {
    // The property of a direct key path has the value's type.
    require(Member.self == Value.self, "A property changed its type")
    guard teller.begin() else {
      add(same(change, as: Change.self))
      return teller.makeCalls()
    }
    noteRound()
    changes.post(unchecked: change)
    teller.end()
  }

  private func report(_ change: Change) {
    guard teller.begin() else {
      add(change)
      return teller.makeCalls()
    }
    noteRound()
    Scope.withObservers { changes.post(change) }
    teller.end()
  }

  /// Adds a call of the observers that are registered now.
  private func add(_ change: Change) {
    let limit = changes.newestID
    teller.add { [self] in
      number = 0
      post(change, limit)
    }
  }

  /// The object, if a change of it is to be reported here and now.
  private var changedRoot: Root? {
    let isUnheard = isUnheard
    if !isUnheard && !isReady { return nil }
    hasBegun = false
    return isUnheard ? nil : living
  }

  /// Reads the value after a change, and follows what is read.
  private func change(
    of root: Root, _ changed: ChangedPaths, _ edit: CollectionEdit?
  ) -> Change {
    let new = follow { read(root) }
    return makeChange(new, edit == nil ? nil : deed(of: edit, new), changed)
  }

  // Separate functions, here and below, because a function looks up all types that it names, even
  // if it does not use them.
  @inline(never)
  private func deed(of edit: CollectionEdit?, _ new: Value) -> CollectionEdit.Deed? {
    defer { self.edit = nil }
    guard let edit, edit === self.edit, edit.ends(with: new) else { return nil }
    return edit.deed
  }

  private func makeChange(
    _ new: Value, _ deed: CollectionEdit.Deed?, _ changed: ChangedPaths
  ) -> Change {
    if known != nil || keepsKnown { return makeChangeFromKnown(new, deed, changed) }
    return Change(
      .changed, deed, old: new, new: new, hasOld: false, path: request.path,
      changed: isDirect ? nil : changed)
  }

  @inline(never)
  private func makeChangeFromKnown(
    _ new: Value, _ deed: CollectionEdit.Deed?, _ changed: ChangedPaths
  ) -> Change {
    let old = known
    known = keepsKnown ? OldValue(new) : nil
    return Change(
      .changed, deed, old: old?.value ?? new, new: new, hasOld: old != nil, path: request.path,
      changed: isDirect ? nil : changed)
  }

  // MARK: Objects that any thread may change

  override func add<Member: Sendable>(
    _ old: Member, _ new: Member, _ number: UInt, _ edit: CollectionEdit?
  ) {
    if isUnheard { return }
    let (old, new) = (same(old, as: Value.self), same(new, as: Value.self))
    let limit = changes.newestID
    teller.add { [self] in
      self.number = number
      if known != nil { known = OldValue(new) }
      let isEdit = edit.map { $0.begins(with: old) && $0.ends(with: new) } ?? false
      let change = Change(
        .changed, isEdit ? edit?.deed : nil, old: old, new: new, hasOld: needsOld,
        path: request.path, changed: nil)
      post(change, limit)
    }
  }

  private func post(_ change: Change, _ limit: UInt64) {
    noteRound()
    Scope.withObservers { changes.post(change, upTo: limit) }
  }

  override func reportNewest(_ changed: ChangedPaths) {
    if isUnheard { return }
    guard let root = living else { return }
    number = 0
    post(makeChange(follow { read(root) }, nil, changed), .max)
  }
}
