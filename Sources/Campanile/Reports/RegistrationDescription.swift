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
  public let subject: ObjectIdentifier?
  /// The type of the owner, or `nil` if a token keeps the registration.
  public let ownerType: (any AnyObject.Type)?
  /// Where the observer runs.
  public let delivery: String
  /// Whether deliveries are being skipped.
  public let isPaused: Bool
  /// The number of values that waited in the registration's own buffer; see
  /// ``Registration/waitingCount``.
  public fileprivate(set) var waitingCount: Int
  /// The number of values that the registration's buffer dropped.
  public fileprivate(set) var droppedCount: Int
  fileprivate let location: CallSite
  /// The file in which the observer was registered, as `#fileID` names it.
  public var file: String { location.fileName }
  /// The line at which the observer was registered.
  public var line: Int { location.line }
  /// The handle of the registration.
  public let registration: Registration
  /// The mailbox of the target that the observer shares with others.
  package let sharedMailbox: Mailbox?
  /// The number of alike registrations that a description from `groups` stands for.
  package fileprivate(set) var groupCount = 1

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

extension AnyObserver {
  /// Whether the registration has not ended and its owner has not died.
  ///
  /// Asked outside all locks, because the question can release the owner.
  var isLive: Bool { details?.isOwnerGone != true && !isEnded }
}

/// A source, or one of its lists, whose registrations are listed.
protocol InspectedSource: AnyObject, Sendable {
  var registry: ObserverRegistry { get }

  /// All lists, each without its parts.
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList]
}

extension ObserverList: InspectedSource {}

/// What is said of the live registrations of lists without their parts; a registration whose owner
/// has died is left out.
extension ObserverRegistry {
  /// The descriptions, oldest first.
  func describe(_ parts: (borrowing Held) -> [ObserverList]) -> [RegistrationDescription] {
    live(parts).ordered { $0.member.registration.id < $1.member.registration.id }
      .map { RegistrationDescription($0.member, $0.mailbox, $0.key) }
  }

  /// One description for all that differ in numbers alone, which are added up.
  func groups(_ parts: (borrowing Held) -> [ObserverList]) -> [RegistrationDescription] {
    var groups: [RegistrationDescription] = []
    // The groups of each line.
    var known: [CallSite: [Int]] = [:]
    for one in live(parts) {
      let one = RegistrationDescription(one.member, one.mailbox, one.key)
      let index = known[one.location]?.first { groups[$0].isAlike(one) }
      if let index {
        groups[index].groupCount += 1
        groups[index].waitingCount += one.waitingCount
        groups[index].droppedCount += one.droppedCount
      } else {
        known[one.location, default: []].append(groups.count)
        groups.append(one)
      }
    }
    return groups
  }

  /// The number.
  func count(_ parts: (borrowing Held) -> [ObserverList]) -> Int {
    withState { _, held in parts(held).flatMap { $0.members(held) } }
      .count { $0.observer.isLive }
  }

  /// The descriptions under a title, oldest first.
  ///
  /// Of more than 150, those that differ in numbers alone share a line, and the most frequent 150 lines
  /// are shown.
  func listing(under title: String, _ parts: (borrowing Held) -> [ObserverList]) -> String {
    let most = 150
    if count(parts) <= most {
      return ([title] + describe(parts).map(\.description)).joined(separator: "\n  ")
    }
    // In the order of the lines, so that the same registrations give the same text.
    let groups = groups(parts).map { (count: $0.groupCount, text: $0.description) }
      .ordered { ($1.count, $0.text) < ($0.count, $1.text) }
    var lines = [title]
    for (count, text) in groups.prefix(most) {
      lines.append(count == 1 ? text : "\(count) times \(text)")
    }
    let rest = groups.dropFirst(most).reduce(0) { $0 + $1.count }
    if rest > 0 { lines.append("and \(rest) others") }
    return lines.joined(separator: "\n  ")
  }

  /// The live registrations, with what their lists say under the lock.
  private func live(
    _ parts: (borrowing Held) -> [ObserverList]
  ) -> [(member: LiveRegistration, mailbox: Mailbox?, key: String?)] {
    let found = withState { _, held in
      parts(held).flatMap { list in
        let (mailbox, key) = ((list as? GroupList)?.targetGroup?.mailbox, list.topicKey)
        return list.members(held).map { (member: $0, mailbox: mailbox, key: key) }
      }
    }
    return found.filter(\.member.observer.isLive)
  }
}

extension RegistrationDescription {
  fileprivate init(_ found: LiveRegistration, _ mailbox: Mailbox?, _ key: String?) {
    let (registration, observer) = (found.registration, found.observer)
    let details = observer.details
    self.init(
      valueType: registration.list.valueType, name: key, subject: registration.list.subject?.id,
      ownerType: details?.ownerType, delivery: details?.delivery ?? ".immediate",
      isPaused: observer.isPaused, waitingCount: details?.buffer?.waitingCount() ?? 0,
      droppedCount: details?.counters?.droppedCount ?? 0, location: observer.location,
      registration: registration, sharedMailbox: mailbox)
  }

  /// Whether the descriptions differ in numbers alone.
  fileprivate func isAlike(_ other: Self) -> Bool {
    location == other.location && valueType == other.valueType && name == other.name
      && (subject == nil) == (other.subject == nil) && ownerType == other.ownerType
      && delivery == other.delivery && isPaused == other.isPaused
      && sharedMailbox === other.sharedMailbox
  }
}
