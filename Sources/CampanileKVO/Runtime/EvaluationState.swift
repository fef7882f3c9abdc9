import Campanile
import Synchronization

/// The state that observers of one evaluation check before each call: one word, which has no
/// relevant bit for most observers.
///
/// The thread that delivers writes the state of the change that is being delivered. The observers
/// that it calls read that state. Threads that add or remove observers count the options of those
/// observers.
final class EvaluationState: Sendable {
  /// Always set, for observers that check each change.
  static let always: UInt = 1
  private static let stale: UInt = 2
  /// Set once a class has provided values, so that the numbers of changes have to be checked.
  private static let numbered: UInt = 4
  /// Set while a delivered change began before some observer was added.
  private static let early: UInt = 8
  /// Set while an edit is delivered.
  private static let edit: UInt = 16
  /// Set while the evaluation has no observer.
  private static let unused: UInt = 32
  static let oldUnit: UInt = 1 << 8
  static let priorUnit: UInt = 1 << 28
  static let distinctUnit: UInt = 1 << 46
  /// The bits that do not matter to an observer that asks for old values only.
  static let olds: UInt = priorUnit - oldUnit

  /// A reference to the evaluation, which observers do not keep.
  private final class Place: Sendable {
    private let reference: OwnerReference<Evaluation>
    init(_ evaluation: Evaluation) { reference = OwnerReference(evaluation) }
    var evaluation: Evaluation? { reference.object }
  }

  private let place = LazyReference<Place>()
  private let bits = Atomic<UInt>(always)
  private let toldNumber = Atomic<UInt>(0)
  private let toldCount = Atomic<UInt>(0)
  private let firstBegan = Atomic<UInt>(0)
  private let lastBegan = Atomic<UInt>(0)
  private let lastComer = Atomic<UInt>(0)

  /// The evaluation, unless its deinit has begun.
  ///
  /// Used by code that has access to the observed object.
  var evaluation: Evaluation? { place.load()?.evaluation }

  /// Stores the evaluation, once.
  func attach(to evaluation: Evaluation) { _ = place.storeIfNil(Place(evaluation)) }

  var word: UInt { bits.load(ordering: .relaxed) }

  /// Whether any observer asks for the value before a change.
  var needsOld: Bool { word & Self.olds != 0 }
  /// Whether any observer asks for prior calls.
  var needsPrior: Bool { word & (Self.distinctUnit - Self.priorUnit) != 0 }
  /// Whether there are observers, and none asks for more than the values before and after a change.
  var isForPlain: Bool { word & (Self.unused | ~(Self.priorUnit - 1)) == 0 }
  /// Whether any observer compares values.
  var isCompared: Bool { word >= Self.distinctUnit }

  /// Whether a newer change than the current one has been delivered.
  var isStale: Bool {
    get { word & Self.stale != 0 }
    set { set(Self.stale, newValue) }
  }

  /// Whether the change that is being delivered is an edit.
  var isEdit: Bool {
    get { word & Self.edit != 0 }
    set { set(Self.edit, newValue) }
  }

  /// Whether the evaluation has no observer.
  var isUnused: Bool {
    get { word & Self.unused != 0 }
    set { set(Self.unused, newValue) }
  }

  private func set(_ bit: UInt, _ isSet: Bool) {
    if isSet == (word & bit != 0) { return }
    if isSet {
      bits.bitwiseOr(bit, ordering: .relaxed)
    } else {
      bits.bitwiseAnd(~bit, ordering: .acquiringAndReleasing)
    }
  }

  /// Records that the change being delivered is not an edit and has no number.
  func clear() {
    isEdit = false
    number = 0
  }

  /// The number of delivered changes, including the one that is being delivered.
  var count: UInt { toldCount.load(ordering: .relaxed) }

  /// The numbers of the first and the last change in the report that is being delivered.
  var began: (first: UInt, last: UInt) {
    (firstBegan.load(ordering: .relaxed), lastBegan.load(ordering: .relaxed))
  }

  /// Records which change is delivered next.
  func tell(_ first: UInt, _ last: UInt) {
    isStale = false
    toldCount.store(count &+ 1, ordering: .relaxed)
    setBegan(first, last)
  }

  /// Returns to the delivery of these changes, after a nested change has been delivered.
  func goBack(to began: (first: UInt, last: UInt)) {
    setBegan(began.first, began.last)
    isStale = true
  }

  private func setBegan(_ first: UInt, _ last: UInt) {
    firstBegan.store(first, ordering: .relaxed)
    lastBegan.store(last, ordering: .relaxed)
    set(Self.early, first <= lastComer.load(ordering: .relaxed))
    // An observer that is added meanwhile may have set the bit before it was cleared.
    if first <= lastComer.load(ordering: .sequentiallyConsistent) { set(Self.early, true) }
  }

  /// Records that an observer was added when `begun` changes had begun.
  func note(_ begun: UInt) {
    // Another thread may have recorded an observer that was added later.
    lastComer.max(begun, ordering: .sequentiallyConsistent)
    // The change that is being delivered may be one of them.
    bits.bitwiseOr(Self.early, ordering: .sequentiallyConsistent)
  }

  /// The number of the change that is being delivered, if the class provided its values; otherwise
  /// 0.
  var number: UInt {
    get { toldNumber.load(ordering: .relaxed) }
    set {
      if newValue == number { return }
      if newValue != 0 { bits.bitwiseOr(Self.numbered, ordering: .relaxed) }
      toldNumber.store(newValue, ordering: .relaxed)
    }
  }

  /// Adds the options of a new observer.
  func add(_ wishes: UInt) {
    let (_, word) = bits.wrappingAdd(wishes, ordering: .sequentiallyConsistent)
    // The narrowest count has 18 bits. Each observer adds at least one to the first count.
    require(
      word & Self.olds < Self.oldUnit << 18,
      "A key path of one object has 262,144 observers that ask for old values, prior calls or distinct values"
    )
  }

  /// Subtracts the options of an observer that has ended.
  func remove(_ wishes: UInt) {
    bits.wrappingSubtract(wishes, ordering: .sequentiallyConsistent)
  }
}
