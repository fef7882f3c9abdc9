public import Campanile

extension Relay {
  /// Carries the messages of a type from now on, between the bus and a center.
  ///
  /// ```swift
  /// relay.carry(TrackChanged.self, in: center)
  /// relay.carry(Ring.self, in: center, .inward, .where(\.tower, "north"))
  /// ```
  ///
  /// For a type that is carried in this center already, this changes the direction and what is
  /// carried. It is in force when ``flush()`` returns.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - center: Kept weakly; with it the carrying ends.
  ///   - direction: Both ways unless said.
  ///   - filters: What the messages must say that others send; those of this process are sent in any
  ///     case.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public func carry<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ direction: Direction = .bothWays,
    _ filters: RelayFilter<M>..., file: StaticString = #fileID, line: UInt = #line
  ) where M.Subject == MessageCenter.NoSubject {
    let pattern = M.relaySubject.pattern(filters, file, line)
    let way = CarriedWay(core)
    guard core.carried.add(way, ObjectIdentifier(type), center) else { return }
    if direction != .inward {
      way.carryOut(type, in: center, file, line) { _ in .some(nil) }
    }
    if direction != .outward {
      way.carryIn(type, in: center, pattern) { center, message, _ in center.post(message) }
    }
  }

  /// Carries the messages of a type that are about instances, each of which has a name.
  ///
  /// ```swift
  /// relay.carry(LevelChanged.self, in: center, name: { $0.id }, find: { players[$0] })
  /// ```
  ///
  /// The name travels as one more token after those of the type. A message about nothing is not
  /// carried, and neither is one whose subject has no name. One that comes about an instance that is
  /// not found here is ignored.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - center: Kept weakly; with it the carrying ends.
  ///   - direction: Both ways unless said.
  ///   - filters: What the messages must say that others send.
  ///   - name: The name of an instance; called where a message is posted, by the poster.
  ///   - find: The instance of a name; called on the relay's queue.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public func carry<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ direction: Direction = .bothWays,
    _ filters: RelayFilter<M>..., name: @escaping @Sendable (M.Subject) -> String?,
    find: @escaping @Sendable (String) -> M.Subject?,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    let pattern = M.relaySubject.pattern(filters, file, line) + ".*"
    let way = CarriedWay(core)
    guard core.carried.add(way, ObjectIdentifier(type), center) else { return }
    if direction != .inward {
      way.carryOut(type, in: center, file, line) { post in
        guard let name = post.subject(of: type).flatMap(name) else { return .none }
        return .some(name)
      }
    }
    if direction != .outward {
      way.carryIn(type, in: center, pattern) { center, message, token in
        guard let name = SubjectName.unescaped(token), let subject = find(name) else { return }
        center.post(message, about: subject)
      }
    }
  }

  /// Carries the messages of a type no more between the bus and a center.
  ///
  /// When it returns, no more of them are posted here; a call of an observer may still be running.
  public func stopCarrying<M: RelayedMessage>(_ type: M.Type, in center: MessageCenter) {
    core.carried.remove(ObjectIdentifier(type), center)?.end()
  }
}

/// What a message must say to be carried inward.
public struct RelayFilter<Message: RelayedMessage>: Sendable {
  let keyPath: any PartialKeyPath<Message> & Sendable
  let value: String

  /// Messages that say `value` at a key path that is a token of the type's relay subject.
  ///
  /// Others are not sent to this process.
  public static func `where`<Value: LosslessStringConvertible & Sendable>(
    _ keyPath: any KeyPath<Message, Value> & Sendable, _ value: Value
  ) -> Self {
    Self(keyPath: keyPath, value: value.description)
  }
}

extension RelaySubject where Message: RelayedMessage {
  fileprivate func pattern(
    _ filters: [RelayFilter<Message>], _ file: StaticString, _ line: UInt
  ) -> String {
    for filter in filters {
      precondition(
        has(filter.keyPath),
        "\(Message.self) is filtered at \(file):\(line) by \(filter.keyPath), which is no token of "
          + "its relaySubject")
    }
    return pattern(where: .init(filters.map { ($0.keyPath, $0.value) }) { $1 })
  }
}

/// The types that a relay carries, with the centers.
final class CarriedTypes: Sendable {
  private struct Key: Hashable {
    let type: ObjectIdentifier
    let center: ObjectIdentifier
  }

  private struct State {
    var ways: [Key: CarriedWay] = [:]
    var isEnded = false
  }

  private let state = Locked(State())

  /// - Returns: Whether the relay has not ended.
  func add(_ way: CarriedWay, _ type: ObjectIdentifier, _ center: MessageCenter) -> Bool {
    let key = Key(type: type, center: ObjectIdentifier(center))
    let (isAdded, old) = state.withLock { state -> (Bool, CarriedWay?) in
      if state.isEnded { return (false, nil) }
      return (true, state.ways.updateValue(way, forKey: key))
    }
    old?.end()
    return isAdded
  }

  func remove(_ type: ObjectIdentifier, _ center: MessageCenter) -> CarriedWay? {
    let key = Key(type: type, center: ObjectIdentifier(center))
    return state.withLock { $0.ways.removeValue(forKey: key) }
  }

  /// Takes nothing more from centers; what comes is still posted.
  func endOutward() {
    for way in state.withLock({ Array($0.ways.values) }) { way.endOutward() }
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
    var isEnded = false
    var isOutwardEnded = false
  }

  private let state = Locked(State())
  // Unowned: the relay's core ends each of its ways before it goes.
  private let core: RelayCore

  init(_ core: RelayCore) { self.core = core }

  func carryOut<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ file: StaticString, _ line: UInt,
    _ name: @escaping @Sendable (borrowing Post) -> String??
  ) {
    let (step, carrier) = (PathStep(center), PathStep(number: core.link.step))
    let registration = center.observeInPlace(type, file: file, line: line) {
      [core, id = ObjectIdentifier(center)] message, post in
      // The relay's end takes this observer away, and with it the core.
      let path = ThreadMark.path(to: id)
      // What has come from the carrier does not go back.
      if !path.isEmpty && path.contains(carrier) { return }
      guard let about = name(post) else { return }
      core.send(
        OutgoingMessage(message, about: about, came: path, through: step, hold: post.hold()))
    }
    let isOver = state.withLock { state in
      state.registration = registration
      return state.isEnded || state.isOutwardEnded
    }
    if isOver { registration.cancel() }
  }

  func carryIn<M: RelayedMessage>(
    _ type: M.Type, in center: MessageCenter, _ pattern: String,
    _ post: @escaping @Sendable (MessageCenter, M, _ lastToken: Substring) -> Void
  ) {
    let carrier = PathStep(number: core.link.step)
    let subscription = Subscription(core, to: pattern) { [weak center, weak core = core] payload in
      guard let center, !payload.path.contains(PathStep(center)) else { return }
      let message: M
      do {
        message = try M(relayPayload: payload.bytes, version: payload.version)
      } catch {
        core?.reportUndecodable(payload, M.self, error)
        return
      }
      let token = payload.subject.split(separator: ".").last ?? ""
      ThreadMark.carry(along: payload.path + [carrier], to: center) {
        post(center, message, token)
      }
    }
    let isOver = state.withLock { state in
      state.subscription = subscription
      return state.isEnded
    }
    if isOver { subscription.end() }
  }

  func endOutward() {
    let registration = state.withLock { state in
      state.isOutwardEnded = true
      return state.registration
    }
    registration?.cancel()
  }

  func end() {
    let (registration, subscription) = state.withLock { state in
      state.isEnded = true
      return (state.registration, state.subscription)
    }
    registration?.cancel()
    subscription?.end()
  }
}

extension RelayCore {
  func reportUndecodable(
    _ payload: RelayedPayload, _ type: Any.Type, _ error: any Error
  ) {
    events.send(
      RelayEvent(
        .undecodable, subject: payload.subject, sender: payload.sender, version: payload.version,
        "What came cannot be decoded as \(type): \(error)"))
  }
}
