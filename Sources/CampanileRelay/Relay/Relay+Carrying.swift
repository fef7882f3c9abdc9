public import Campanile
import Synchronization

extension Relay {
  /// Carries the messages of a type from now on, between the bus and a center.
  ///
  /// ```swift
  /// relay.carry(TrackChanged.self, in: center)
  /// relay.carry(Ring.self, in: center, .inward, .where(\.tower, "north"))
  /// relay.carry(Job.self, in: center, .inward, .oneOf("workers"))  // each job to one of them
  /// ```
  ///
  /// If the type is carried in this center already, this changes the direction and the filters. The
  /// change is in effect when ``flush()`` returns. After the relay has ended, this has no effect.
  ///
  /// A type can be carried in several centers; a message of one of them is not posted in the others
  /// of the same relay. A message that cannot be decoded is reported once for each center.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - center: The center, which is held weakly. When it ends, nothing more is carried.
  ///   - direction: Both ways by default.
  ///   - filters: Conditions on the messages of other processes; those of this one are always sent.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public func carry<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ direction: Direction = .bothWays,
    _ filters: RelayFilter<M>..., file: StaticString = #fileID, line: UInt = #line
  ) where M.Subject == MessageCenter.NoSubject {
    carry(type, in: center, direction, filters, file, line, name: nil, find: nil)
  }

  /// Carries the messages of a type about instances, each of which has a name.
  ///
  /// ```swift
  /// relay.carry(LevelChanged.self, in: center, name: { $0.id }, find: { players[$0] })
  /// ```
  ///
  /// The name is sent as one more token after the tokens of the type's relay subject. A message
  /// without a subject, or whose subject has no name, is not carried. A message whose instance is
  /// not found here is ignored. After the relay has ended, this has no effect.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - center: The center, which is held weakly. When it ends, nothing more is carried.
  ///   - direction: Both ways by default.
  ///   - filters: Conditions on the messages of other processes.
  ///   - name: Returns the name of an instance. It is called on the thread that posts.
  ///   - find: Returns the instance of a name. It is called on the relay's queue.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public func carry<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ direction: Direction = .bothWays,
    _ filters: RelayFilter<M>..., name: @escaping @Sendable (M.Subject) -> String?,
    find: @escaping @Sendable (String) -> M.Subject?,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    carry(
      type, in: center, direction, filters, file, line,
      name: { post in post.subject(of: type).flatMap(name) },
      find: { SubjectName.unescaped($0).flatMap(find) })
  }

  /// - Parameters:
  ///   - name: The name of what a post is about: messages without one are not carried.
  ///   - find: What a message is about, by the last token of its name: messages about what is not
  ///     found are not posted.
  ///
  /// Without both closures, messages are about nothing.
  private func carry<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ direction: Direction,
    _ filters: [RelayFilter<M>], _ file: StaticString, _ line: UInt,
    name: (@Sendable (borrowing Post) -> String?)?, find: (@Sendable (Substring) -> M.Subject?)?
  ) {
    let pattern = M.relaySubject.pattern(filters, file, line) + (find == nil ? "" : ".*")
    let way = CarriedWay(core)
    guard core.carried.add(way, ObjectIdentifier(type), center) else { return }
    if direction != .inward { way.carryOut(type, in: center, file, line, name) }
    if direction != .outward {
      way.carryIn(type, in: center, pattern, filters.group(file, line), find)
    }
  }

  /// Stops carrying the messages of a type between the bus and a center.
  ///
  /// After this method has returned, the relay posts none of them in this center, except a message
  /// that it has begun to post. For a type that is not carried there, it has no effect.
  public func stopCarrying<M: RelayedMessage>(_ type: M.Type, in center: MessageCenter) {
    core.carried.remove(ObjectIdentifier(type), center)?.end()
  }
}

/// A condition on the messages that are carried inward.
public struct RelayFilter<Message: RelayedMessage>: Sendable {
  fileprivate enum Kind: Sendable {
    case value(String, at: any PartialKeyPath<Message> & Sendable)
    case group(String)
  }

  fileprivate let kind: Kind

  /// Accepts messages with `value` at a key path that is a token of the type's relay subject.
  ///
  /// Other messages are not sent to this process. When the type is carried, a key path that is
  /// not a token of the subject is a precondition failure.
  public static func `where`<Value: LosslessStringConvertible & Sendable>(
    _ keyPath: any KeyPath<Message, Value> & Sendable, _ value: Value
  ) -> Self {
    Self(kind: .value(value.description, at: keyPath))
  }

  /// Shares the messages with the relays that name the same group: one of them receives each.
  ///
  /// On one host, a message is sent to the relay of the group that has the fewest others in hand,
  /// and it is in hand until its observers have returned, those on queues and asynchronous ones
  /// too. If the process dies or stops before that, another relay of the group receives the
  /// message, so it may be handled twice. Each relay receives the messages of one sender in their
  /// order, except those that it receives because another process has died. The relay that posts a
  /// message does not receive it.
  ///
  /// While no relay of the group is connected, messages are counted in ``Relay/unheard``. If more
  /// is posted than the group handles, up to 8 MB of messages wait; beyond that the oldest are
  /// dropped, and the relay that posted them reports a loss.
  ///
  /// - Parameter group: A name of 1 to 256 bytes; anything else is a precondition failure, and so is a
  ///   second group.
  public static func oneOf(_ group: String) -> Self { Self(kind: .group(group)) }
}

extension Array {
  /// The group with which the messages are shared.
  fileprivate func group<Message: RelayedMessage>(
    _ file: StaticString, _ line: UInt
  ) -> String? where Element == RelayFilter<Message> {
    let groups = compactMap { filter -> String? in
      if case .group(let group) = filter.kind { group } else { nil }
    }
    require(
      groups.count < 2,
      "\(Message.self) is carried at \(file):\(line) for one of \(groups); it takes one group")
    return groups.first.map(SubjectName.checkedGroup)
  }
}

extension RelaySubject where Message: RelayedMessage {
  fileprivate func pattern(
    _ filters: [RelayFilter<Message>], _ file: StaticString, _ line: UInt
  ) -> String {
    var values: [AnyKeyPath: String] = [:]
    for case .value(let value, let keyPath) in filters.map(\.kind) {
      require(
        has(keyPath),
        "\(Message.self) is filtered at \(file):\(line) by \(keyPath), which is no token of "
          + "its relaySubject")
      values[keyPath] = value
    }
    return pattern(where: values)
  }
}

/// The types that a relay carries, with the centers.
final class CarriedTypes: Sendable {
  struct Key: Hashable {
    let type: ObjectIdentifier
    let center: ObjectIdentifier
  }

  struct State {
    var ways: [Key: CarriedWay] = [:]
    var isOutwardEnded = false
    var isEnded = false
    /// With so many, those of released centers are looked for.
    var limit = 32
  }

  /// Tests count the ways.
  let state = Locked(State())

  /// - Returns: Whether the relay has not ended.
  func add(_ way: CarriedWay, _ type: ObjectIdentifier, _ center: MessageCenter) -> Bool {
    let key = Key(type: type, center: ObjectIdentifier(center))
    let (isAdded, old, isMany) = state.withLock { state in
      // It has no observer yet.
      if state.isOutwardEnded { way.endOutward() }
      if state.isEnded { return (false, CarriedWay?.none, false) }
      let old = state.ways.updateValue(way, forKey: key)
      return (true, old, state.ways.count >= state.limit)
    }
    old?.end()
    if isMany { sweep() }
    return isAdded
  }

  /// Removes the ways of released centers, when there are twice as many ways as were left the last
  /// time.
  private func sweep() {
    let ways = state.withLock { Array($0.ways.values) }
    // Outside the lock: to look for a center may be to hold it last.
    remove(ways.filter(\.isOfReleasedCenter))
    state.withLock { $0.limit = max(32, 2 * $0.ways.count) }
  }

  func remove(_ type: ObjectIdentifier, _ center: MessageCenter) -> CarriedWay? {
    let key = Key(type: type, center: ObjectIdentifier(center))
    return state.withLock { $0.ways.removeValue(forKey: key) }
  }

  /// Ends ways, and leaves those that have taken their places.
  func remove(_ ways: [CarriedWay]) {
    let removed = Set(ways.map(ObjectIdentifier.init))
    state.withLock { state in
      state.ways = state.ways.filter { !removed.contains(ObjectIdentifier($0.value)) }
    }
    for way in ways { way.end() }
  }

  /// Sends nothing more from the centers, nor from one that is added; arriving messages are still
  /// posted.
  func endOutward() {
    let ways = state.withLock { state in
      state.isOutwardEnded = true
      return Array(state.ways.values)
    }
    for way in ways { way.endOutward() }
  }

  func end() {
    let ways = state.withLock { state in
      state.isEnded = true
      defer { state.ways = [:] }
      return Array(state.ways.values)
    }
    for way in ways { way.end() }
  }
}

/// A type that is carried in a center.
final class CarriedWay: Sendable {
  private struct State {
    var registration: Registration?
    var subscription: Subscription?
    /// The center in which what arrives is posted.
    weak var center: MessageCenter?
  }

  private let state = Locked(State())
  /// Whether nothing more is sent, though the observer may be registered: another thread registers
  /// it, or is about to end it.
  private let isOutwardEnded = Atomic<Bool>(false)
  /// Whether nothing more that arrives is posted.
  private let isInwardEnded = Atomic<Bool>(false)
  // A cycle, which the end of the relay breaks: it ends all ways, and releases them.
  private let core: RelayCore

  init(_ core: RelayCore) { self.core = core }

  func carryOut<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ file: StaticString, _ line: UInt,
    _ name: (@Sendable (borrowing Post) -> String?)?
  ) {
    let (step, carrier) = (center.pathStep, PathStep(number: core.link.step))
    let registration = center.observeInPlace(type, file: file, line: line) {
      // The relay's end removes this observer, and with it the core.
      [self] message, post in
      if isOutwardEnded.load(ordering: .acquiring) { return }
      var details: OutgoingMessage.Details?
      if name != nil || post.hasDetails {
        // A message that came from the carrier does not return to it.
        if post.path.contains(carrier) { return }
        let about = name?(post)
        if name != nil && about == nil { return }
        details = OutgoingMessage.Details(about, post.path, post.hold())
      }
      core.send(size: OutgoingMessage.size(of: message)) { [details] in
        OutgoingMessage(message, through: step, details)
      }
    }
    state.withLock { $0.registration = registration }
    // Set before the registration is asked for.
    if isOutwardEnded.load(ordering: .sequentiallyConsistent) { registration.cancel() }
  }

  func carryIn<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ pattern: String, _ group: String?,
    _ find: (@Sendable (Substring) -> M.Subject?)?
  ) {
    let carrier = PathStep(number: core.link.step)
    let subscription = Subscription(core, to: pattern, in: group) {
      [weak self, weak center, weak core = core] payload in
      guard let center else {
        // No observer is left for the messages, which other processes still send.
        if let self { core?.carried.remove([self]) }
        return false
      }
      if payload.path.contains(center.pathStep) { return true }
      let message: M
      do {
        message = try M(relayPayload: payload.bytes, version: payload.version)
      } catch {
        core?.reportUndecodable(payload, M.self, error)
        return true
      }
      var subject: M.Subject?
      if let find {
        subject = find(payload.subject.split(separator: ".").last ?? "")
        if subject == nil { return true }
      }
      // It may have ended while the message was decoded.
      if self?.isInwardEnded.load(ordering: .acquiring) != false { return false }
      center.post(
        message, about: subject, along: payload.path + [carrier], trackedBy: payload.tracker)
      return true
    }
    state.withLock { ($0.subscription, $0.center) = (subscription, center) }
    // Set before the subscription is asked for.
    if isInwardEnded.load(ordering: .sequentiallyConsistent) { subscription.end() }
  }

  /// Whether nothing is carried any more, because the center has been released.
  var isOfReleasedCenter: Bool {
    let (isInward, registration, center) = state.withLock { state in
      (state.subscription != nil, state.registration, state.center)
    }
    return isInward ? center == nil : registration.map { !$0.isActive } ?? false
  }

  func endOutward() {
    isOutwardEnded.store(true, ordering: .sequentiallyConsistent)
    state.withLock { $0.registration }?.cancel()
  }

  func end() {
    endOutward()
    isInwardEnded.store(true, ordering: .sequentiallyConsistent)
    state.withLock { $0.subscription }?.end()
  }
}

extension RelayCore {
  func reportUndecodable(
    _ payload: RelayedPayload, _ type: Any.Type, _ error: any Error
  ) {
    tell(
      RelayEvent(
        .undecodable, subject: payload.subject, sender: payload.sender, version: payload.version,
        "What came cannot be decoded as \(type): \(error)"))
  }
}
