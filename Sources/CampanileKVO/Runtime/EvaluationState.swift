import Synchronization

/// What the observers of one evaluation ask before each call: one word, which for most says nothing.
///
/// What is said of the change that is being told is written by the thread that tells, and read by the
/// observers that it calls. What observers wish is counted by whoever comes and goes.
final class EvaluationState: Sendable {
  /// Always set, for observers that look at each change.
  static let always: UInt = 1
  private static let stale: UInt = 2
  /// Set once a class has handed over values, whose numbers are looked at.
  private static let numbered: UInt = 4
  /// Set while a change is told that began before some observer came.
  private static let early: UInt = 8
  /// Set while an edit is told.
  private static let edit: UInt = 16
  /// Set while there is no observer.
  private static let unused: UInt = 32
  static let oldUnit: UInt = 1 << 8
  static let priorUnit: UInt = 1 << 28
  static let distinctUnit: UInt = 1 << 46
  /// The bits that are nothing to an observer that wants old values, and no more.
  static let olds: UInt = priorUnit - oldUnit

  private let bits = Atomic<UInt>(always)
  private let toldNumber = Atomic<UInt>(0)
  private let toldCount = Atomic<UInt>(0)
  private let firstBegan = Atomic<UInt>(0)
  private let lastBegan = Atomic<UInt>(0)
  private let lastComer = Atomic<UInt>(0)

  var word: UInt { bits.load(ordering: .relaxed) }

  /// Whether any observer wants the value before a change.
  var needsOld: Bool { word & Self.olds != 0 }
  /// Whether any observer is called before a change.
  var needsPrior: Bool { word & (Self.distinctUnit - Self.priorUnit) != 0 }
  /// Whether no observer wants more than the values before and after a change, and there is one.
  var isForPlain: Bool { word & (Self.unused | ~(Self.priorUnit - 1)) == 0 }
  /// Whether any observer compares values.
  var isCompared: Bool { word >= Self.distinctUnit }

  /// Whether a newer change has been told than the one that is being told.
  var isStale: Bool {
    get { word & Self.stale != 0 }
    set { set(Self.stale, newValue) }
  }

  /// Whether the change that is being told is an edit.
  var isEdit: Bool {
    get { word & Self.edit != 0 }
    set { set(Self.edit, newValue) }
  }

  /// Whether there is no observer.
  var isUnused: Bool {
    get { word & Self.unused != 0 }
    set { set(Self.unused, newValue) }
  }

  private func set(_ bit: UInt, _ isSet: Bool) {
    if isSet == (word & bit != 0) { return }
    if isSet {
      bits.bitwiseOr(bit, ordering: .relaxed)
    } else {
      bits.bitwiseAnd(~bit, ordering: .relaxed)
    }
  }

  /// Takes in that what is told now is no edit, and has no number.
  func clear() {
    isEdit = false
    number = 0
  }

  /// How many changes have been told, with the one that is being told.
  var count: UInt { toldCount.load(ordering: .relaxed) }

  /// Which changes the one is made of that is being told, the first and the last.
  var began: (first: UInt, last: UInt) {
    (firstBegan.load(ordering: .relaxed), lastBegan.load(ordering: .relaxed))
  }

  /// Takes in which change is told next.
  func tell(_ first: UInt, _ last: UInt) {
    isStale = false
    toldCount.store(count &+ 1, ordering: .relaxed)
    setBegan(first, last)
  }

  /// Takes in that a nested change has been told, and a change made of these goes on.
  func goBack(to began: (first: UInt, last: UInt)) {
    setBegan(began.first, began.last)
    isStale = true
  }

  private func setBegan(_ first: UInt, _ last: UInt) {
    firstBegan.store(first, ordering: .relaxed)
    lastBegan.store(last, ordering: .relaxed)
    set(Self.early, first <= lastComer.load(ordering: .relaxed))
  }

  /// Takes in that an observer has come when so many changes had begun.
  func note(_ begun: UInt) {
    lastComer.store(begun, ordering: .sequentiallyConsistent)
    // Perhaps the change that is being told.
    set(Self.early, true)
  }

  /// The number of the change that is being told, of a class that hands its values over; else 0.
  var number: UInt {
    get { toldNumber.load(ordering: .relaxed) }
    set {
      if newValue == number { return }
      if newValue != 0 { bits.bitwiseOr(Self.numbered, ordering: .relaxed) }
      toldNumber.store(newValue, ordering: .relaxed)
    }
  }

  /// Takes in what an observer wishes that has come.
  func add(_ wishes: UInt) {
    let (_, word) = bits.wrappingAdd(wishes, ordering: .sequentiallyConsistent)
    // The narrowest of the counts has 18 bits, and each observer adds one to the first at least.
    precondition(
      word & Self.olds < Self.oldUnit << 18,
      "A key path of one object has 262,144 observers that ask for old values, prior calls or distinct values"
    )
  }

  /// Takes back what an observer wished that has gone.
  func remove(_ wishes: UInt) {
    bits.wrappingSubtract(wishes, ordering: .sequentiallyConsistent)
  }
}
