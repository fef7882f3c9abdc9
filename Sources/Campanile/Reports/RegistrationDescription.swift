/// A description of one live registration of a source.
public struct RegistrationDescription: Sendable, CustomStringConvertible {
  /// The type of the source's messages or values.
  ///
  /// An observer of a `map` receives values of another type.
  public let valueType: any Any.Type
  /// The name that the observer registered for, in sources with names, such as Foundation's
  /// centers.
  public let name: String?
  /// The identity of the instance whose messages the observer receives, or `nil` for any.
  ///
  /// It is valid while that instance lives. A later instance may have the same identity, and the
  /// observer does not receive its messages.
  public package(set) var subject: ObjectIdentifier?
  /// The type of the owner, or `nil` if a token keeps the registration.
  public let ownerType: (any AnyObject.Type)?
  /// Where the observer runs.
  public let delivery: String
  /// Whether deliveries are being skipped.
  public let isPaused: Bool
  /// The number of values that waited in the registration's own buffer; see
  /// ``Registration/waitingCount``.
  public internal(set) var waitingCount: Int
  /// The number of values that the registration's buffer dropped.
  public internal(set) var droppedCount: Int
  /// The file in which the observer was registered, as `#fileID` names it.
  public let file: String
  /// The line at which the observer was registered.
  public let line: Int
  /// The handle of the registration.
  public let registration: Registration
  /// The target that the observer shares with others, while that is there.
  package var sharedTarget: (any DeliveryTarget)? { target?.target }
  fileprivate let target: TargetReference?
  /// The number of alike registrations that a description from `groups` stands for.
  package internal(set) var groupCount = 1

  /// Whether this is the source's own, for a state that is derived from it.
  package var isDerivedState: Bool { delivery == Self.derivedState }
  static var derivedState: String { "behalf of a derived state" }

  /// The description as one line.
  public var description: String {
    var line = name ?? "\(valueType)"
    if subject != nil { line += ", about one subject" }
    if let ownerType { line += ", owner \(ownerType)" }
    line += ", on \(delivery)"
    if isPaused { line += ", paused" }
    if waitingCount > 0 { line += ", \(waitingCount) waiting" }
    if droppedCount > 0 { line += ", \(droppedCount) dropped" }
    return line + " (\(file):\(self.line))"
  }
}

/// A weak reference in an object, so that what contains it is copied as plain words.
private final class TargetReference: Sendable {
  weak let target: (any DeliveryTarget)?
  init(_ target: any DeliveryTarget) { self.target = target }
}

/// A list, with what is known of it only under the lock.
private struct Place {
  let list: ObserverList
  let target: (any DeliveryTarget)?
  let key: String?

  init(_ list: ObserverList, _ held: borrowing ObserverRegistry.Held) {
    (self.list, key) = (list, list.topicKey)
    target = (list as? GroupList)?.targetGroup?.target
  }
}

/// A registration that is to be described.
private typealias PlacedRegistration = (one: LiveRegistration, place: Place)

extension AnyObserver {
  /// Whether the registration has not ended and its owner has not died.
  ///
  /// Asked outside all locks, because the question can release the owner.
  var isLive: Bool { details?.isOwnerGone != true && !isEnded }
}

extension ObserverRegistry {
  /// The live registrations of `lists`, oldest first.
  ///
  /// A registration whose owner has died is left out.
  func describe(_ lists: (borrowing Held) -> [ObserverList]) -> [RegistrationDescription] {
    describe(placed { registrations(in: lists($0), $0) })
  }

  /// The live registrations of `lists`, oldest first.
  @inline(never)
  func describe(_ lists: [ObserverList]) -> [RegistrationDescription] { describe { _ in lists } }

  /// The live registrations among those that `find` finds, oldest first.
  func describe(finding find: (borrowing Held) -> [LiveRegistration]) -> [RegistrationDescription] {
    describe(placed(find))
  }

  /// One description for all live registrations of `lists` that differ in numbers alone, which are
  /// added up.
  ///
  /// Much cheaper than `describe` for many registrations: most are only counted.
  func groups(_ lists: (borrowing Held) -> [ObserverList]) -> [RegistrationDescription] {
    groups(withState { _, held in place(lists(held), held) })
  }

  /// The number of live registrations of `lists`.
  func count(_ lists: (borrowing Held) -> [ObserverList]) -> Int {
    count(withState { _, held in registrations(in: lists(held), held) })
  }

  /// The live registrations of `lists` under a title, as text of at most 200 lines.
  ///
  /// Of very many registrations the oldest are described. The others are counted by the line that
  /// registered them.
  func listing(under title: String, _ lists: (borrowing Held) -> [ObserverList]) -> String {
    listing(under: title, placed { registrations(in: lists($0), $0) })
  }

  /// The registrations that `find` finds, with the facts known only under the lock, oldest first.
  private func placed(_ find: (borrowing Held) -> [LiveRegistration]) -> [PlacedRegistration] {
    inOrder(withState { _, held in place(find(held), held) })
  }

  // Functions of their own, because one that takes a closure is compiled for each closure.

  @inline(never)
  private func place(
    _ found: [LiveRegistration], _ held: borrowing Held
  ) -> [PlacedRegistration] {
    found.map { ($0, Place($0.registration.list, held)) }
  }

  @_optimize(size)
  @inline(never)
  private func place(
    _ lists: [ObserverList], _ held: borrowing Held
  ) -> [(place: Place, members: [LiveRegistration])] {
    lists.flatMap {
      $0.parts(held).map { (Place($0, held), ObserverList.registrations(of: [$0], held)) }
    }
  }

  @_optimize(size)
  @inline(never)
  private func inOrder(_ found: [PlacedRegistration]) -> [PlacedRegistration] {
    found.filter { $0.one.observer.isLive }
      .ordered { $0.one.registration.id < $1.one.registration.id }
  }

  @inline(never)
  private func describe(_ found: [PlacedRegistration]) -> [RegistrationDescription] {
    found.map { RegistrationDescription($0) }
  }

  @_optimize(size)
  @inline(never)
  private func groups(
    _ lists: [(place: Place, members: [LiveRegistration])]
  ) -> [RegistrationDescription] {
    var groups: [RegistrationDescription] = []
    var kinds: [(kind: RegistrationKind, next: Int?)] = []
    // The last group of each line; `next` has the one before.
    var newest: [CallSite: Int] = [:]
    for (place, members) in lists {
      for one in members where one.observer.isLive {
        let (observer, details) = (one.observer, one.observer.details)
        let kind = RegistrationKind(place, observer, details)
        let location = observer.location
        var index = newest[location]
        while let other = index, kinds[other].kind != kind { index = kinds[other].next }
        if let index {
          groups[index].groupCount += 1
          groups[index].waitingCount += details?.buffer?.waitingCount() ?? 0
          groups[index].droppedCount += details?.counters?.droppedCount ?? 0
          continue
        }
        kinds.append((kind, newest[location]))
        newest[location] = groups.count
        groups.append(RegistrationDescription((one, place)))
      }
    }
    return groups
  }

  @inline(never)
  private func count(_ found: [LiveRegistration]) -> Int { found.count { $0.observer.isLive } }

  @inline(never)
  private func listing(under title: String, _ found: [PlacedRegistration]) -> String {
    let (most, half) = (150, 75)
    let described = found.count <= most ? found.count : half
    var lines = [title]
    for one in found.prefix(described) { lines.append(RegistrationDescription(one).description) }
    if described < found.count {
      var counts: [CallSite: Int] = [:]
      for one in found[described...] { counts[one.one.observer.location, default: 0] += 1 }
      // In the order of the lines, so that the same registrations give the same text.
      let places = counts.map { (count: $1, place: "\($0.fileName):\($0.line)") }
        .ordered { ($1.count, $0.place) < ($0.count, $1.place) }
      lines.append("and \(found.count - described) more, counted by the line that registered them:")
      for one in places.prefix(half) { lines.append("\(one.count) at \(one.place)") }
      let rest = places.dropFirst(half)
      if !rest.isEmpty {
        lines.append("\(rest.reduce(0) { $0 + $1.count }) at \(rest.count) other lines")
      }
    }
    return lines.joined(separator: "\n  ")
  }
}

/// What a description says of a registration, except numbers and the line.
private struct RegistrationKind: Equatable {
  let valueType: ObjectIdentifier
  let name: String?
  let isAboutSubject: Bool
  let isPaused: Bool
  let ownerType: ObjectIdentifier?
  let delivery: String?
  let target: ObjectIdentifier?

  init(_ place: Place, _ observer: AnyObserver, _ details: ObserverDetails?) {
    valueType = ObjectIdentifier(place.list.valueType)
    name = place.key
    isAboutSubject = place.list.subject != nil
    isPaused = observer.isPaused
    ownerType = details?.ownerType.map { ObjectIdentifier($0) }
    delivery = details?.delivery
    target = place.target.map { ObjectIdentifier($0) }
  }
}

extension RegistrationDescription {
  fileprivate init(_ found: PlacedRegistration) {
    let (registration, observer) = (found.one.registration, found.one.observer)
    let details = observer.details
    self.init(
      valueType: registration.list.valueType, name: found.place.key, subject: registration.subject,
      ownerType: details?.ownerType, delivery: details?.delivery ?? ".immediate",
      isPaused: observer.isPaused, waitingCount: details?.buffer?.waitingCount() ?? 0,
      droppedCount: details?.counters?.droppedCount ?? 0, file: observer.location.fileName,
      line: observer.location.line, registration: registration,
      target: found.place.target.map { TargetReference($0) })
  }
}
