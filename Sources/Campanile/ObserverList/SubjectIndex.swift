import Synchronization

/// The lists of one message type, by subject: an open-addressing table read without a lock.
///
/// Written under the registry's lock. A place whose list has gone keeps its key, so that a reader's
/// search goes on past it; such places are left behind when the table is built anew.
final class SubjectIndex: @unchecked Sendable {
  private let registry: ObserverRegistry
  private let valueType: any Any.Type
  private let table = Atomic<UInt>(0)

  init(registry: ObserverRegistry, valueType: any Any.Type) {
    self.registry = registry
    self.valueType = valueType
  }

  deinit {
    // SAFETY: the index owns its table, and nobody else has the index.
    if let current { unsafe Unmanaged.passUnretained(current).release() }
  }

  /// Whether no subject has a list.
  ///
  /// A post may ask before it announces itself.
  @inline(__always)
  var isEmpty: Bool { table.load(ordering: .acquiring) == 0 }

  @inline(__always)
  private var head: UnsafeMutablePointer<AddressTableHead>? {
    // SAFETY: replaced tables are kept until the posts that may hold them have left.
    unsafe UnsafeMutablePointer(bitPattern: table.load(ordering: .sequentiallyConsistent))
  }

  private var current: AddressTable<ObserverList>? {
    unsafe head?.table(of: ObserverList.self)
  }

  /// The list for a subject, for a post that has announced itself.
  @inline(__always)
  func list(about subject: ObjectIdentifier) -> Unmanaged<ObserverList>? {
    guard let address = unsafe head?.object(for: UInt(bitPattern: subject)) else { return nil }
    return unsafe Unmanaged.fromOpaque(address)
  }

  // MARK: Under the registry's lock

  /// The list for a subject, made if there is none.
  func makeList(about subject: AnyObject, _ garbage: inout Garbage) -> ObserverList {
    let key = UInt(bitPattern: ObjectIdentifier(subject))
    let list = unsafe current?.object(for: key)?.takeUnretainedValue()
    if let list { return list }
    let new = ObserverList(
      registry: registry,
      topic: .init(value: valueType, subject: ObjectIdentifier(subject)),
      subject: subject,
      home: .index(.init(object: self)))
    if current?.insert(key, new) != true {
      rebuild(&garbage)
      _ = current!.insert(key, new)
    }
    return new
  }

  func remove(_ list: ObserverList, _ garbage: inout Garbage) {
    guard let subject = list.topic.subject, let table = current else { return }
    garbage.structures.append((list, since: list.created))
    table.remove(UInt(bitPattern: subject))
    if table.liveCount == 0 { replace(with: nil, &garbage) }
  }

  var lists: [ObserverList] { current?.objects ?? [] }

  private func rebuild(_ garbage: inout Garbage) {
    let lists = self.lists
    let new = AddressTable<ObserverList>(
      capacity: max(4, (lists.count + 1) * 2), created: registry.tick())
    for list in lists { _ = new.insert(UInt(bitPattern: list.topic.subject!), list) }
    replace(with: new, &garbage)
  }

  private func replace(with new: AddressTable<ObserverList>?, _ garbage: inout Garbage) {
    let old = current
    if let new { _ = unsafe Unmanaged.passRetained(new) }
    table.store(
      new.map { UInt(bitPattern: unsafe $0.head) } ?? 0, ordering: .sequentiallyConsistent)
    guard let old else { return }
    garbage.structures.append((old, since: old.created))
    // The garbage holds it too, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(old).release()
  }
}
