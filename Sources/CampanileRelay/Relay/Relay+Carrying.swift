public import Campanile

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
    let key = CarriedTypes.Key(type, center)
    core.carried.remove(key)
    let registration =
      direction == .inward || core.carried.isOutwardEnded
      ? nil : core.carryOut(type, in: center, file, line, name)
    let subscription =
      direction == .outward
      ? nil : core.carryIn(type, in: center, pattern, filters.group(file, line), find)
    core.carried.add(CarriedWay(center, registration, subscription), for: key)
  }

  /// Stops carrying the messages of a type between the bus and a center.
  ///
  /// After this method has returned, the relay posts none of them in this center, except a message
  /// that it has begun to post. For a type that is not carried there, it has no effect.
  public func stopCarrying<M: RelayedMessage>(_ type: M.Type, in center: MessageCenter) {
    core.carried.remove(CarriedTypes.Key(type, center))
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
    private let type, center: ObjectIdentifier

    init<M: RelayedMessage>(_ type: M.Type, _ center: MessageCenter) {
      (self.type, self.center) = (ObjectIdentifier(type), ObjectIdentifier(center))
    }
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

  /// Whether nothing more is sent from the centers.
  var isOutwardEnded: Bool { state.withLock { $0.isOutwardEnded } }

  /// Keeps a way, in the place of one that another thread has added since the last was removed.
  func add(_ way: CarriedWay, for key: Key) {
    let (old, isOutwardEnded, isMany) = state.withLock { state in
      // A relay that has ended keeps none.
      let old = state.isEnded ? way : state.ways.updateValue(way, forKey: key)
      return (old, state.isOutwardEnded, state.ways.count >= state.limit)
    }
    old?.end()
    if isOutwardEnded { way.endOutward() }
    if isMany { removeReleased() }
  }

  func remove(_ key: Key) { state.withLock { $0.ways.removeValue(forKey: key) }?.end() }

  /// Removes the ways of released centers.
  ///
  /// It is called when there are twice as many ways as were left the last time, and when a message
  /// finds no center.
  func removeReleased() {
    let ways = state.withLock { $0.ways }
    // Outside the lock: to look for a center may be to hold it last.
    let released = ways.filter { $0.value.center == nil }
    state.withLock { state in
      // Others may have taken their places.
      for (key, way) in released where state.ways[key] === way { state.ways[key] = nil }
      state.limit = max(32, 2 * state.ways.count)
    }
    for way in released.values { way.end() }
  }

  /// Sends nothing more from the centers, nor from one that is added; arriving messages are still
  /// posted.
  func endOutward() {
    let ways = state.withLock { state in
      state.isOutwardEnded = true
      return state.ways
    }
    for way in ways.values { way.endOutward() }
  }

  func end() {
    let ways = state.withLock { state in
      state.isEnded = true
      defer { state.ways = [:] }
      return state.ways
    }
    for way in ways.values { way.end() }
  }
}

/// A type that is carried in a center.
final class CarriedWay: Sendable {
  fileprivate weak let center: MessageCenter?
  private let registration: Registration?
  private let subscription: Subscription?

  fileprivate init(
    _ center: MessageCenter, _ registration: Registration?, _ subscription: Subscription?
  ) {
    (self.center, self.registration, self.subscription) = (center, registration, subscription)
  }

  func endOutward() { registration?.cancel() }

  func end() {
    endOutward()
    subscription?.end()
  }
}

extension RelayCore {
  fileprivate func carryOut<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ file: StaticString, _ line: UInt,
    _ name: (@Sendable (borrowing Post) -> String?)?
  ) -> Registration {
    let (step, carrier) = (center.pathStep, PathStep(number: link.step))
    return center.observeInPlace(type, file: file, line: line) {
      // The relay's end removes this observer, and with it the core.
      [self] message, post in
      var details: OutgoingMessage.Details?
      if name != nil || post.hasDetails {
        // A message that came from the carrier does not return to it.
        if post.path.contains(carrier) { return }
        let about = name?(post)
        if name != nil && about == nil { return }
        details = OutgoingMessage.Details(about, post.path, post.hold())
      }
      send(size: OutgoingMessage.size(of: message)) { [details] in
        .message(OutgoingMessage(message, through: step, details))
      }
    }
  }

  fileprivate func carryIn<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ pattern: String, _ group: String?,
    _ find: (@Sendable (Substring) -> M.Subject?)?
  ) -> Subscription {
    let carrier = PathStep(number: link.step)
    return Subscription(self, to: pattern, in: group) {
      [weak self, weak center] payload, route in
      guard let center else {
        // No observer is left for the messages, which other processes still send.
        self?.carried.removeReleased()
        return false
      }
      if payload.path.contains(center.pathStep) { return true }
      let message: M
      do {
        message = try M(relayPayload: payload.bytes, version: payload.version)
      } catch {
        self?.reportUndecodable(payload, M.self, error)
        return true
      }
      var subject: M.Subject?
      if let find {
        subject = find(payload.subject.split(separator: ".").last ?? "")
        if subject == nil { return true }
      }
      // It may have ended while the message was decoded.
      if route.hasEnded { return false }
      center.post(
        message, about: subject, along: payload.path + [carrier], trackedBy: payload.tracker)
      return true
    }
  }

  func reportUndecodable(
    _ payload: RelayedPayload, _ type: Any.Type, _ error: any Error
  ) {
    tell(
      RelayEvent(
        .undecodable, subject: payload.subject, sender: payload.sender, version: payload.version,
        "What came cannot be decoded as \(type): \(error)"))
  }
}
