import Campanile
import Dispatch

/// The hub of a bus, in one process: connections, and a state that says what to do.
final class HubServer: Sendable {
  fileprivate struct State {
    var hub: HubState
    var connections: [ConnectionID: Connection] = [:]
    /// The connection that was looked for last, which the next one often is, too.
    var latest: Connection?
    var lastID = 0
    /// The reasons why connections were closed that are not, or no longer, those of members.
    var refusals: [String] = []
    /// Whether no connection is accepted until the next tick, because the system had no room.
    var isFull = false
    /// Whether that has been reported since a connection was accepted.
    var hasReportedFull = false
    var isClosed = false
    let accepts: (any DispatchSourceProtocol)?
    let pulse: HubPulse
  }

  /// A channel, and the bytes read from it that do not make a whole frame; used only under the lock.
  fileprivate final class Connection {
    let id: ConnectionID
    let channel: SocketChannel
    var parser = FrameParser<MemberFrame>()
    /// Whether it has been sent something that is not flushed.
    var isTouched = false

    init(_ id: ConnectionID, _ channel: SocketChannel) {
      self.id = id
      self.channel = channel
    }
  }

  private let state: Locked<State>
  private let pulse = HubPulse()
  private let ticks: Ticks
  private let generation: UInt64
  private let address: Address?
  let queue: DispatchQueue
  private let onRefusal: @Sendable (String) -> Void

  /// - Parameters:
  ///   - hub: The state of a hub that has begun to gather.
  ///   - address: Where other processes reach it; without it, only members of this process do.
  ///   - onRefusal: Called, on any queue, with the reason why a connection was closed.
  init(
    _ hub: sending HubState, at address: Address? = nil,
    onRefusal: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    queue = DispatchQueue(label: "campanile.relay.hub")
    ticks = Ticks(on: queue)
    (generation, self.address, self.onRefusal) = (hub.generation, address, onRefusal)
    let accepts = address?.socket.makeSource(of: .readable, on: queue)
    state = Locked(State(hub: hub, accepts: accepts, pulse: pulse))
  }

  /// The tenths of a second that it waits for members, and for their logs.
  var patience: Int { state.withLock { $0.hub.patience } }

  /// Takes connections, and begins to count time.
  func start() {
    state.withLock { state in
      if let address, let accepts = state.accepts {
        accepts.setEventHandler { [weak self] in self?.acceptAll(at: address) }
        accepts.setCancelHandler { withExtendedLifetime(address) {} }
        accepts.activate()
      }
    }
    ticks.start { [weak self] in self?.tick() }
    pulse.start { [weak self] in self?.isOver ?? true }
    queue.async { self.act { _, _ in } }
    look()
    address?.folder.removeGenerations(before: generation)
    lookForDeaths()
  }

  /// Where other processes reach a hub.
  final class Address: Sendable {
    fileprivate let folder: BusFolder
    /// Keeps others from the generation.
    fileprivate let claim: FileLock
    fileprivate let socket: UnixSocket
    private let spare = Locked(Descriptor.spare())

    init(
      in folder: BusFolder, _ generation: UInt64, _ claim: FileLock
    ) throws(SystemError) {
      (self.folder, self.claim) = (folder, claim)
      socket = try folder.listen(generation)
    }

    /// Tells the connections that wait that the process has no descriptor left.
    ///
    /// Otherwise they would take the hub for dead, and one with as few would be the next.
    ///
    /// - Returns: Whether that was possible.
    func refuseAll() -> Bool {
      var bytes: [UInt8] = []
      HubFrame.refused(
        "The process that passes messages on has no file descriptor left for another one."
      ).append(to: &bytes)
      return spare.withLock { spare in
        // Something else may have taken its number meanwhile.
        if spare == nil { spare = Descriptor.spare() }
        if spare == nil { return false }
        while socket.refuse(saying: bytes, with: &spare), spare != nil {}
        return spare != nil
      }
    }
  }

  // MARK: Connections

  private func acceptAll(at address: Address) {
    do throws(SystemError) {
      while let accepted = try address.socket.accepted() {
        state.withLock { $0.hasReportedFull = false }
        accept(accepted)
      }
    } catch {
      let isTold = address.refuseAll()
      let reports = state.withLock { state in
        if state.isClosed { return false }
        // A connection that waits for a place would make the handler run again at once.
        if !isTold {
          state.isFull = true
          state.accepts?.suspend()
          ticks.set(true)
        }
        defer { state.hasReportedFull = true }
        return !state.hasReportedFull
      }
      if reports { onRefusal("A process could not be let in. \(error)") }
    }
  }

  private func accept(_ socket: consuming UnixSocket) {
    if let user = socket.otherUser() {
      return onRefusal(
        "A process of \(user) was sent away; the bus is of the user \(UnixSocket.user).")
    }
    let (channel, id) = add(socket)
    // The member of this process needs none: it does not look for another hub.
    pulse.add(channel, id)
  }

  /// Connects a member of this process.
  ///
  /// - Returns: The member's end, whose events are handled on its queue.
  func connect(
    on memberQueue: DispatchQueue, _ handle: @escaping @Sendable (ChannelEvent) -> Void
  ) throws(SystemError) -> SocketChannel {
    let pair = try UnixSocket.pair()
    _ = add(pair.first)
    return SocketChannel(pair.second, on: memberQueue, handle)
  }

  private func add(_ socket: consuming UnixSocket) -> (SocketChannel, ConnectionID) {
    let id = state.withLock { state in
      state.lastID += 1
      return ConnectionID(rawValue: state.lastID)
    }
    let channel = SocketChannel(socket, on: queue) { [weak self] in self?.handle($0, of: id) }
    let isClosed = state.withLock { state in
      if state.isClosed { return true }
      state.connections[id] = Connection(id, channel)
      state.hub.connected(id)
      return false
    }
    if isClosed { channel.close() }
    return (channel, id)
  }

  // MARK: Events

  private func handle(_ event: ChannelEvent, of id: ConnectionID) {
    // The member whose connection is closed may have claimed the next generation.
    switch event {
    case .read, .closed: if isFollowed { return close() }
    case .readEnd, .written: break
    }
    if case .closed = event { removeLock(of: id) }
    act { state, actions in
      switch event {
      case .read(let bytes): state.read(bytes, of: id, &actions)
      case .readEnd: state.hub.endRead(of: id, &actions)
      case .written(let rest): state.hub.waiting(rest, on: id, &actions)
      case .closed:
        state.close(id)
        state.hub.disconnected(id, &actions)
      }
    }
  }

  /// Removes what a member has left in the folder, if its process has died.
  private func removeLock(of id: ConnectionID) {
    guard let address, let member = state.withLock({ $0.hub.member(of: id) }) else { return }
    _ = address.folder.isDead(member.rawValue)
  }

  private func tick() {
    state.withLock { $0.acceptAgain() }
    act { $0.hub.tick(&$1) }
    // Not before: what the hub says is sent when all is done.
    pulse.tick()
  }

  /// Whether another hub follows, or this one cannot be found, because its files were deleted.
  private var isOver: Bool {
    guard let address else { return false }
    return address.folder.isClaimed(after: generation) || address.claim.isLost
      || !address.folder.isInPlace
  }

  /// Whether another process has claimed the next generation.
  private var isFollowed: Bool { address?.folder.isClaimed(generation + 1) ?? false }

  /// Ends if another hub follows, or the files have been deleted.
  func look() { if isOver { close() } }

  /// Tells the members that the hub is alive, if its queue is busy.
  func beat() { pulse.beat(unless: { isOver }) }

  /// Gives the files of the hub the present time.
  func renewFiles() { address?.folder.renewHubs(generation) }

  /// Checks which of the members have died that the hub waits for before it opens.
  private func lookForDeaths() {
    let awaited = state.withLock { $0.isClosed ? [] : $0.hub.awaited }
    guard let address, !awaited.isEmpty else { return }
    for member in awaited where address.folder.isDead(member.rawValue) {
      act { $0.hub.died(member, &$1) }
    }
    queue.asyncAfter(deadline: .now() + .milliseconds(5)) { [weak self] in self?.lookForDeaths() }
  }

  /// Asks the state, and does what it says.
  private func act(_ body: (inout State, inout [HubAction]) -> Void) {
    let (refusals, needsTicks) = state.withLock { state -> ([String], Bool?) in
      if state.isClosed { return ([], nil) }
      var actions: [HubAction] = []
      body(&state, &actions)
      while !actions.isEmpty {
        let touched = state.perform(actions)
        actions.removeAll(keepingCapacity: true)
        for connection in touched {
          connection.isTouched = false
          state.hub.waiting(connection.channel.flush(), on: connection.id, &actions)
        }
      }
      defer { state.refusals = [] }
      return (state.refusals, state.hub.needsTicks || state.isFull)
    }
    if let needsTicks {
      ticks.set(needsTicks)
      pulse.set(needsTicks)
    }
    for reason in refusals { onRefusal(reason) }
  }

  /// The process leaves the bus; its member has closed its connection.
  func end() {
    if isFollowed { return close() }
    act { state, actions in
      state.endOwn(&actions)
      state.hub.end(&actions)
    }
    close()
  }

  /// Ends the hub; its members find another one.
  func close() {
    let channels = state.withLock { state -> [SocketChannel] in
      if state.isClosed { return [] }
      state.isClosed = true
      ticks.end()
      // A source that is suspended cannot be canceled for good.
      state.acceptAgain()
      state.accepts?.cancel()
      pulse.end()
      defer { (state.connections, state.latest) = ([:], nil) }
      return state.connections.values.map(\.channel)
    }
    for channel in channels { channel.close() }
  }
}

extension HubServer.State {
  fileprivate mutating func acceptAgain() {
    if isFull { accepts?.resume() }
    isFull = false
  }

  fileprivate mutating func connection(_ id: ConnectionID) -> HubServer.Connection? {
    if let latest, latest.id == id { return latest }
    guard let connection = connections[id] else { return nil }
    latest = connection
    return connection
  }

  fileprivate mutating func close(_ id: ConnectionID) {
    if latest?.id == id { latest = nil }
    pulse.remove(id)
    connections.removeValue(forKey: id)?.channel.close()
  }

  fileprivate mutating func read(
    _ bytes: ArraySlice<UInt8>, of id: ConnectionID, _ actions: inout [HubAction]
  ) {
    guard let connection = connection(id) else { return }
    var parser = FrameParser<MemberFrame>()
    swap(&parser, &connection.parser)
    parser.append(bytes)
    do throws(FrameError) {
      while let frame = try parser.next() { hub.received(frame, from: id, &actions) }
    } catch {
      // A member that breaks the format is disconnected, because no later frame can be read.
      refusals.append("A process was sent away. \(error.message)")
      close(id)
      hub.disconnected(id, &actions)
    }
    swap(&parser, &connection.parser)
  }

  /// Reads what the member of this process has written last, and passes on what it had in hand.
  fileprivate mutating func endOwn(_ actions: inout [HubAction]) {
    for (id, connection) in connections where hub.member(of: id) == hub.own {
      for bytes in connection.channel.readRest() { read(bytes[...], of: id, &actions) }
      hub.endRead(of: id, &actions)
      close(id)
      hub.disconnected(id, &actions)
    }
  }

  /// - Returns: The connections to which something is to be written.
  fileprivate mutating func perform(_ actions: [HubAction]) -> [HubServer.Connection] {
    var touched: [HubServer.Connection] = []
    var bytes: [UInt8] = []
    for action in actions {
      switch action {
      case .send(let receivers, let frame):
        bytes.removeAll(keepingCapacity: true)
        frame.append(to: &bytes)
        for id in receivers {
          guard let connection = connection(id) else { continue }
          connection.channel.send(bytes)
          if connection.isTouched { continue }
          connection.isTouched = true
          touched.append(connection)
        }
      case .close(let id, let reason):
        if let reason { refusals.append("A process was sent away. \(reason)") }
        close(id)
      case .opened: break
      }
    }
    return touched
  }
}
