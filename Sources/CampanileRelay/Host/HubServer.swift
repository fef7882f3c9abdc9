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
    /// Members that it waits for.
    var awaited: Set<MemberID>
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
    let channel: any Channel
    var parser = FrameParser<MemberFrame>()
    /// Whether it has been sent something that is not flushed.
    var isTouched = false

    init(_ id: ConnectionID, _ channel: any Channel) {
      self.id = id
      self.channel = channel
    }
  }

  private let state: Locked<State>
  private let pulse = HubPulse()
  private let ticks: Ticks
  private let watch = Locked<FolderWatch?>(nil)
  private let generation: UInt64
  private let folder: BusFolder?
  private let claim: FileLock?
  let queue: DispatchQueue
  private let listener: Listener?
  /// Called on the hub's queue with the reason why a connection was closed.
  private let onRefusal: @Sendable (String) -> Void

  /// A hub that listens in a folder.
  ///
  /// - Parameters:
  ///   - generation: Which it is of.
  ///   - own: The member that it is part of.
  ///   - expected: The members that it waits for, which may have died.
  ///   - silent: Another one that is alive, and silent.
  ///   - logLimit: The bytes that its log may have.
  ///   - silenceLimit: The tenths of a second after which a silent member counts as stopped.
  ///   - patience: Those that it waits for members, and for their logs.
  ///   - claim: Keeps others from this generation.
  ///   - onRefusal: Called on the hub's queue with the reason why a connection was closed.
  init(
    generation: UInt64, busID: UInt64, own: MemberID, expected: Set<MemberID>,
    silent: MemberID? = nil, folder: BusFolder, logLimit: Int = HubState.standardLogLimit,
    silenceLimit: Int = SilenceLimits().ofMembers, patience: Int? = nil, claim: FileLock,
    onRefusal: @escaping @Sendable (String) -> Void
  ) throws(SystemError) {
    queue = DispatchQueue(label: "campanile.relay.hub")
    ticks = Ticks(on: queue)
    self.onRefusal = onRefusal
    self.generation = generation
    self.folder = folder
    self.claim = claim
    let socket = try folder.listen(generation)
    let accepts = socket.makeSource(of: .readable, on: queue)
    listener = Listener(socket)
    let expected = expected.filter { !folder.isDead($0.rawValue) }
    state = Locked(
      State(
        hub: HubState(
          generation: generation, busID: busID, own: own, expected: expected,
          silent: silent, logLimit: logLimit, silenceLimit: silenceLimit,
          patience: patience),
        awaited: expected.union(silent.map { [$0] } ?? []), accepts: accepts, pulse: pulse))
  }

  /// A hub that other members of the process alone reach.
  init(busID: UInt64, own: MemberID, silenceLimit: Int) {
    queue = DispatchQueue(label: "campanile.relay.hub")
    ticks = Ticks(on: queue)
    generation = 1
    onRefusal = { _ in }
    (folder, claim, listener) = (nil, nil, nil)
    state = Locked(
      State(
        hub: HubState(
          generation: 1, busID: busID, own: own, expected: [], silenceLimit: silenceLimit),
        awaited: [], accepts: nil, pulse: pulse))
  }

  /// The tenths of a second that it waits for members, and for their logs.
  var patience: Int { state.withLock { $0.hub.patience } }

  /// Takes connections, and begins to count time.
  func start() {
    state.withLock { state in
      if let listener, let accepts = state.accepts {
        accepts.setEventHandler { [weak self] in self?.acceptAll(from: listener) }
        accepts.setCancelHandler { withExtendedLifetime(listener) {} }
        accepts.activate()
      }
    }
    ticks.start { [weak self] in self?.tick() }
    pulse.start { [weak self] in self?.isOver ?? true }
    if let folder {
      // Without a watch, its own member looks.
      let watch = FolderWatch(folder.path, on: queue) { [weak self] in self?.look() }
      self.watch.withLock { $0 = watch }
    }
    queue.async { self.act { _, _ in } }
    look()
    folder?.removeGenerations(before: generation)
    lookForDeaths()
  }

  private final class Listener: Sendable {
    let socket: UnixSocket
    private let spare = Locked(Descriptor.spare())

    init(_ socket: consuming UnixSocket) { self.socket = socket }

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

  private func acceptAll(from listener: Listener) {
    do throws(SystemError) {
      while let accepted = try listener.socket.accepted() {
        state.withLock { $0.hasReportedFull = false }
        accept(accepted)
      }
    } catch {
      let isTold = listener.refuseAll()
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
    let id = newConnection()
    let channel = SocketChannel(socket, on: queue) { [weak self] in self?.handle($0, of: id) }
    add(channel, id)
    // The member of this process needs none: it does not look for another hub.
    pulse.add(channel, id)
  }

  /// Connects a member of this process.
  ///
  /// - Returns: The member's end, whose events are handled on its queue.
  func connect(
    on memberQueue: DispatchQueue, _ handle: @escaping @Sendable (ChannelEvent) -> Void
  ) -> any Channel {
    let id = newConnection()
    let (own, other) = MemoryChannel.pair(
      (queue, { [weak self] in self?.handle($0, of: id) }), (memberQueue, handle))
    queue.async { self.add(own, id) }
    return other
  }

  private func newConnection() -> ConnectionID {
    state.withLock { state in
      state.lastID += 1
      return ConnectionID(rawValue: state.lastID)
    }
  }

  private func add(_ channel: any Channel, _ id: ConnectionID) {
    let isClosed = state.withLock { state in
      if state.isClosed { return true }
      state.connections[id] = Connection(id, channel)
      state.hub.connected(id)
      return false
    }
    if isClosed { channel.close() }
  }

  // MARK: Events

  private func handle(_ event: ChannelEvent, of id: ConnectionID) {
    // The member whose connection is closed may have claimed the next generation.
    switch event {
    case .read, .closed: if let folder, folder.isClaimed(generation + 1) { return close() }
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
    guard let folder, let member = state.withLock({ $0.hub.member(of: id) }) else { return }
    _ = folder.isDead(member.rawValue)
  }

  private func tick() {
    state.withLock { $0.acceptAgain() }
    act { $0.hub.tick(&$1) }
    // Not before: what the hub says is sent when all is done.
    pulse.tick()
  }

  /// Whether another hub follows, or this one cannot be found, because its files were deleted.
  private var isOver: Bool {
    guard let folder, let claim else { return false }
    return folder.isClaimed(after: generation) || claim.isLost || !folder.isInPlace
  }

  /// Ends if another hub follows, on the hub's queue.
  func look() { if isOver { close() } }

  /// Tells the members that the hub is alive, if its queue is busy.
  func beat() { pulse.beat(unless: { isOver }) }

  /// Gives the files of the hub the present time.
  func renewFiles() { folder?.renewHubs(generation) }

  /// Checks which of the members that the hub waits for, or that are silent, have died, until it is
  /// open.
  private func lookForDeaths() {
    let awaited = state.withLock { state in
      if state.hub.isOpen || state.isClosed { state.awaited = [] }
      return state.awaited
    }
    guard let folder, !awaited.isEmpty else { return }
    for member in awaited where folder.isDead(member.rawValue) {
      act { state, actions in
        state.awaited.remove(member)
        state.hub.died(member, &actions)
      }
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

  /// The process leaves the bus.
  func end() {
    act { $0.hub.end(&$1) }
    close()
  }

  /// Ends the hub; its members find another one.
  func close() {
    let channels = state.withLock { state -> [any Channel] in
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
    watch.withLock { $0 = nil }
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
