import Campanile
import Synchronization

/// The untyped part of an evaluation, which all observers of one key path of one object share.
///
/// An evaluation follows the properties that the getters of the key path read. When one of them has
/// changed, it calls the observers through its ``Teller``:
///
/// | a change | the call has |
/// |---|---|
/// | of an object that stays in one isolation | the value that is read at the change |
/// | by a class that sets through its registrar, of the property itself | the values that were found under the lock |
/// | any other change by any thread | the value that is read when the call is made; changes made before share the call |
///
/// Observers keep their evaluation, which keeps their list. A property refers to the evaluations
/// that read it, and keeps only the one of the key path that is the property itself.
///
/// If any thread may change the object, `links`, `collector` and the stored properties of the
/// subclass are used by the thread whose turn it is. Otherwise they are used in the isolation of the
/// object.
class Evaluation {
  let request: KVORequest
  let rootID: ObjectIdentifier
  /// Whether the key path is one property of the root.
  let isDirect: Bool
  let teller = Teller()
  private let collector = ReadCollector()
  private var links: [ObservedProperty] = []
  /// The thread on which the getters of the path run, or 0.
  private let reader = Atomic<UInt>(0)
  /// The requests of observers beyond new values, ever.
  private let wishes = Atomic<UInt8>(0)
  /// Whether the beginning of a change has been noted, and its end not yet.
  var hasBegun = false
  /// The number of rounds of calls.
  // An atomic, like everything that is read at each call: accesses to a variable are checked at run
  // time.
  private let roundCount = Atomic<UInt>(0)
  /// The number of the change that is being reported, or 0 if the class does not number it.
  var number: UInt = 0
  /// The properties that have changed, if a call with the newest value waits.
  private let changed = Locked<ChangedPaths?>(nil)
  /// How many observers are being added; negative once the evaluation is retired.
  private let pins = Atomic<Int>(1)

  init(_ request: KVORequest, root: AnyObject, isDirect: Bool) {
    self.request = request
    self.isDirect = isDirect
    rootID = ObjectIdentifier(root)
  }

  deinit {
    for property in links { property.remove(ObjectIdentifier(self)) }
    if isDirect { DirectEvaluations.remove(ObjectIdentifier(self), of: rootID) }
  }

  // MARK: What depends on the types

  /// Whether there are no observers.
  var isUnheard: Bool { false }
  /// Notes the value before a change, and makes the prior call.
  func noteBeginning(of property: ObservedProperty, _ edit: CollectionEdit?) {}
  /// Reads the value after a change, and calls the observers.
  func report(_ changed: ChangedPaths, _ edit: CollectionEdit?) {}
  /// Reads the value after a change, and adds the call.
  func add(_ changed: ChangedPaths, _ edit: CollectionEdit?) {}
  /// Adds the call for a change whose values were found under a lock.
  func add<Member: Sendable>(
    _ old: Member, _ new: Member, _ number: UInt, _ edit: CollectionEdit?
  ) {}
  /// Calls the observers for a change whose values the setter knows.
  func report<Made, Member>(_ change: Made, of type: Member.Type) {}
  /// Reads the newest value, and calls the observers in the turn of the calling thread.
  func reportNewest(_ changed: ChangedPaths) {}
  /// Ends the observations, because the object has died.
  func finish() {}

  /// Whether this is the evaluation that a request for a key path of an object shares.
  func serves(_ other: KVORequest, rootID: ObjectIdentifier) -> Bool {
    request.isShared && self.rootID == rootID && request.isOnMain == other.isOnMain
      && request.path == other.path
  }

  // MARK: Retiring

  /// Begins to add an observer, unless the evaluation is retired; `unpin()` must follow.
  ///
  /// A new evaluation is pinned.
  func pin() -> Bool { pins.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue > 0 }

  func unpin() { pins.wrappingSubtract(1, ordering: .sequentiallyConsistent) }

  var isRetired: Bool { pins.load(ordering: .sequentiallyConsistent) < 0 }

  /// Refuses further observers, unless there is one or one is being added, and returns whether it
  /// does.
  func retire() -> Bool {
    // So far below zero that no number of refused observers makes it positive.
    let isFree = pins.compareExchange(
      expected: 0, desired: .min / 2, ordering: .sequentiallyConsistent
    ).exchanged
    if !isFree { return false }
    if isUnheard { return true }
    pins.store(0, ordering: .sequentiallyConsistent)
    return false
  }

  // MARK: What observers need

  var rounds: UInt { roundCount.load(ordering: .relaxed) }
  func noteRound() { roundCount.store(rounds &+ 1, ordering: .relaxed) }

  func add(_ wishes: ObserverWishes) {
    self.wishes.bitwiseOr(wishes.rawValue, ordering: .sequentiallyConsistent)
  }

  private func includes(_ wishes: ObserverWishes) -> Bool {
    !ObserverWishes(rawValue: self.wishes.load(ordering: .relaxed)).isDisjoint(with: wishes)
  }

  /// Whether the value before a change has to be known.
  var needsOld: Bool { includes([.old, .distinct, .prior]) }
  var needsPrior: Bool { includes(.prior) }

  // MARK: Following

  /// Runs getters, and follows the properties that they read.
  ///
  /// Changes by the getters are not reported to the observers of this path, because a getter that
  /// counts its reads would otherwise run forever.
  func follow<Value>(_ read: () -> Value) -> Value {
    let outer = reader.exchange(CallingThread.id, ordering: .relaxed)
    let value = collector.collect(read)
    reader.store(outer, ordering: .relaxed)
    if let reads = collector.newReads { follow(reads) }
    return value
  }

  /// Whether the properties that the path reads have been followed since the evaluation was made.
  var isFollowing: Bool { !links.isEmpty }

  /// Runs getters before a change, and follows nothing, because the property that changes stays
  /// followed until the change ends.
  func peek<Value>(_ read: () -> Value) -> Value {
    let outer = reader.exchange(CallingThread.id, ordering: .relaxed)
    defer { reader.store(outer, ordering: .relaxed) }
    return ReadCollector().collect(read)
  }

  private var isReading: Bool {
    let reader = reader.load(ordering: .relaxed)
    return reader != 0 && reader == CallingThread.id
  }

  /// Follows these properties, and no others.
  func follow(_ reads: [ReadCollector.Read]) {
    collector.expect(reads)
    let before = links
    links = reads.map(\.property)
    let new = reads.filter { read in !before.contains { $0 === read.property } }
    for read in new { read.property.add(self) }
    for property in before where !links.contains(where: { $0 === property }) {
      property.remove(ObjectIdentifier(self))
    }
    addNewest(after: new)
  }

  /// Adds a call if another thread has changed a property between its read and its link.
  func addNewest(after reads: [ReadCollector.Read]) {
    guard let read = reads.first(where: { $0.property.revision != $0.revision }) else { return }
    addNewest(read.property.path)
  }

  /// The number of the change that stored the value read last, if the class has read both under its
  /// lock.
  var exactNumber: UInt? { collector.exactRevision }

  // MARK: Changes of objects that stay in one isolation

  /// Whether this thread may read the key path.
  private var isAtHome: Bool { !request.isOnMain || MainDelivery.main.delivery.isCurrent }

  /// Whether a setter may hand over the values of a change, because nothing else is needed.
  var takesValues: Bool {
    // While getters run, a scope is open.
    isDirect && !request.isForAnyThread && !needsPrior && !Scope.isAnyOpen && isAtHome
  }

  func willChange(_ property: ObservedProperty) {
    let edit = Scope.current?.edit
    if !needsOld && edit == nil || request.isForAnyThread { return }
    if !isAtHome || hasBegun || isReading { return }
    // Otherwise the change is part of the open one.
    for other in links where other !== property && other.isOpen { return }
    hasBegun = true
    noteBeginning(of: property, edit)
  }

  /// Whether a change that has ended is to be reported here and now.
  ///
  /// Otherwise it is part of an open change, or was made by the getters of the path, or is reported
  /// on the main actor.
  var isReady: Bool {
    if isReading { return false }
    if !isAtHome {
      addNewest(request.path)
      return false
    }
    for property in links where property.isOpen { return false }
    return true
  }

  // MARK: Changes by any thread

  /// Adds a call with the newest value, unless one waits.
  func addNewest(_ path: KVOPath) {
    if isReading { return }
    // A path that stays in one isolation may lead to an object that any thread changes.
    if !request.isForAnyThread && isAtHome { return add(ChangedPaths(path), nil) }
    let isFirst = changed.withLock { changed in
      changed?.add(path)
      if changed != nil { return false }
      changed = ChangedPaths(path)
      return true
    }
    if !isFirst { return }
    if request.isForAnyThread {
      teller.add { [self] in makeNewestCall() }
    } else {
      MainHop.post(self)
    }
  }

  /// Makes the call with the newest value, if one waits; the teller's own call then does nothing.
  func makeNewestCall() {
    var taken: ChangedPaths?
    changed.withLock { swap(&$0, &taken) }
    guard let taken else { return }
    if request.isForAnyThread { reportNewest(taken) } else { report(taken, nil) }
  }
}
