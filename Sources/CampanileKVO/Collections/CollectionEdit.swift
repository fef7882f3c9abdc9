import Campanile

/// The edit of a collection by a mutation proxy.
///
/// The setter of the collection's property reports an ordinary change. It is this edit for every key
/// path whose values before and after it are the collections before and after the edit.
@usableFromInline
final class CollectionEdit: Sendable {
  /// The kind of edit, and its elements.
  ///
  /// Indirect, so that it takes little room: every change has room for one, and few have one.
  @usableFromInline
  indirect enum Deed: Sendable {
    case insertion(RangeSet<Int>)
    case removal(RangeSet<Int>)
    case replacement(RangeSet<Int>)
    case edits(removals: RangeSet<Int>, insertions: RangeSet<Int>, moves: [KVOMove])
  }

  let deed: Deed
  /// Whether a value is the collection before the edit, and after it.
  private typealias Tests = (isBefore: (Any) -> Bool, isAfter: (Any) -> Bool)
  // SAFETY: like the edit itself, the collections stay in the isolation of the code that changes the
  // object.
  private let tests: UncheckedLock<Tests>

  private init(_ deed: Deed, _ tests: Tests) {
    self.deed = deed
    self.tests = UncheckedLock(tests)
  }

  /// Reads a collection, runs `body` on a copy, and sets the copy unless `body` returns `nil`.
  static func perform<Object: AnyObject, Value>(
    of object: Object, _ keyPath: ReferenceWritableKeyPath<Object, Value>,
    areSame: @escaping (Value, Value) -> Bool, _ body: (inout Value) throws -> Deed?
  ) rethrows {
    let before = object[keyPath: keyPath]
    var after = before
    guard let deed = try body(&after) else { return }
    func test(_ value: Value) -> (Any) -> Bool {
      // The value of a key path may be an optional.
      { other in (other as? Value).map { areSame($0, value) } ?? false }
    }
    let edit = CollectionEdit(deed, (test(before), test(after)))
    Scope.with(edit) { object[keyPath: keyPath] = after }
  }

  /// Whether `value`, which was read along some key path, is the collection before the edit.
  func begins(with value: Any) -> Bool { tests.withLock { $0 }.isBefore(value) }

  /// Whether `value` is the collection after the edit.
  func ends(with value: Any) -> Bool { tests.withLock { $0 }.isAfter(value) }
}
