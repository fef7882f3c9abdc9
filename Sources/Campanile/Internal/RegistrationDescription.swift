/// A description of one live registration of a source.
public struct RegistrationDescription: Sendable, CustomStringConvertible {
  /// The type of the messages or values that the observer receives.
  public let valueType: any Any.Type
  /// The name that the observer registered for, in sources with names, such as Foundation's
  /// centers.
  public package(set) var name: String?
  /// The identity of the instance whose messages the observer receives, or `nil` for any.
  public package(set) var subject: ObjectIdentifier?
  /// The type of the owner, or `nil` if a token keeps the registration.
  public let ownerType: (any AnyObject.Type)?
  /// Where the observer runs.
  public let delivery: String
  /// Whether deliveries are being skipped.
  public let isPaused: Bool
  /// The number of values that waited in the registration's own buffer; see
  /// ``Registration/waitingCount``.
  public let waitingCount: Int
  /// The number of values that the registration's buffer dropped.
  public let droppedCount: Int
  /// The file in which the observer was registered, as `#fileID` names it.
  public let file: String
  /// The line at which the observer was registered.
  public let line: Int
  /// The handle of the registration.
  public let registration: Registration
  /// The target that the observer shares with others, while that is there.
  package weak let sharedTarget: (any DeliveryTarget)?

  /// Whether this is the source's own, for a state that is derived from it.
  package var isDerivedState: Bool { delivery == Self.derivedState }
  static var derivedState: String { "behalf of a derived state" }

  /// The description as one line.
  public var description: String {
    var parts = [name ?? "\(valueType)"]
    if subject != nil { parts.append("about one subject") }
    if let ownerType { parts.append("owner \(ownerType)") }
    parts.append("on \(delivery)")
    if isPaused { parts.append("paused") }
    if waitingCount > 0 { parts.append("\(waitingCount) waiting") }
    if droppedCount > 0 { parts.append("\(droppedCount) dropped") }
    return parts.joined(separator: ", ") + " (\(file):\(line))"
  }
}

extension ObserverRegistry {
  /// The live registrations of `lists`, oldest first.
  ///
  /// A registration whose owner has died is left out.
  func describe(_ lists: (borrowing Held) -> [ObserverList]) -> [RegistrationDescription] {
    let found = withState { _, held in
      // A list's group is asked for under the lock.
      lists(held).flatMap { $0.registrations(held) }.map {
        ($0, ($0.registration.list as? GroupList)?.targetGroup)
      }
    }
    let sorted = found.sorted { $0.0.registration.id < $1.0.registration.id }
    return sorted.compactMap { found, group in
      let (registration, observer) = (found.registration, found.observer)
      let details = observer.details
      if details?.isOwnerGone == true || observer.isEnded { return nil }
      return RegistrationDescription(
        valueType: registration.list.valueType, subject: registration.subject,
        ownerType: details?.ownerType, delivery: details?.delivery ?? ".immediate",
        isPaused: observer.isPaused, waitingCount: details?.buffer?.waitingCount() ?? 0,
        droppedCount: details?.counters?.droppedCount ?? 0, file: observer.location.fileName,
        line: observer.location.line, registration: registration,
        sharedTarget: group?.target)
    }
  }
}
