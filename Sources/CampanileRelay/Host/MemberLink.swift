import Campanile
import Dispatch

/// One member of a bus: it joins the hub that there is, or becomes it.
final class MemberLink: RelayLink {
  fileprivate struct State {
    var member: MemberState
    var receiver: (any RelayReceiver)?
    var channel: SocketChannel?
    var parser = FrameParser<HubFrame>()
    /// Whether the relay takes messages.
    ///
    /// Until the member is open, it reads all the same.
    var isReading = true
    /// The hub, if it is part of this member.
    var hub: HubServer?
    var lock: FileLock?
    /// Whether it is to take over from the hub that it finds.
    var wantsHub: Bool
    /// How often it has been tried to join the hub of a generation that does not listen.
    var attempts = (generation: UInt64(0), count: 0)
    /// How many connections in a row have ended before the bus was open.
    var vainConnections = 0
    /// The last trouble that was reported, so that the same one is reported once.
    var trouble = ""
    var isStopped = false
    var watch: FolderWatch?
    /// Whether it is going to look into the folder, because there is no watch.
    var willLook = false
  }

  let queue: DispatchQueue
  let step: UInt64
  private let id: MemberID
  private let bus: Bus
  /// The bytes of messages that are kept for others.
  private let logLimit: Int
  private let silence: SilenceLimits
  private let ticks: Ticks
  private let state: Locked<State>

  /// Where the members meet.
  enum Bus: Sendable {
    case folder(BusFolder)
    case memory(LoopbackBus)
  }

  init(
    _ bus: Bus, name: String, _ buffering: RelayBuffering, wantsHub: Bool = false,
    silence: SilenceLimits = SilenceLimits()
  ) {
    queue = DispatchQueue(label: "campanile.relay.link")
    ticks = Ticks(on: queue)
    self.bus = bus
    self.silence = silence
    logLimit = buffering.byteCount
    id = MemberID(rawValue: .random(in: 1 ... .max))
    step =
      switch bus {
      case .folder(let folder): folder.step
      case .memory(let bus): bus.id
      }
    state = Locked(
      State(
        member: MemberState(
          id: id, name: name, processID: ProgramCalls.processID, buffering: buffering,
          logLimit: logLimit, silenceLimit: silence.ofHub),
        wantsHub: wantsHub))
  }

  /// The hub, if it is part of this member.
  var hub: HubServer? { state.withLock { $0.hub } }

  // MARK: Life

  func start(_ receiver: any RelayReceiver) {
    state.withLock { $0.receiver = receiver }
    ticks.start { [weak self] in self?.tick() }
    queue.async { self.join() }
  }

  func stop() {
    queue.async {
      let (channel, hub, receiver, lock) = self.state.withLock { state in
        self.ticks.end()
        state.watch = nil
        state.isStopped = true
        defer { (state.channel, state.hub, state.receiver, state.lock) = (nil, nil, nil, nil) }
        return (state.channel, state.hub, state.receiver, state.lock)
      }
      channel?.close()
      if let hub { hub.queue.async { hub.end() } }
      if lock != nil, case .folder(let folder) = self.bus { folder.remove(self.id.rawValue) }
      withExtendedLifetime((receiver, lock)) {}
    }
  }

  // MARK: What the relay wants

  func perform(_ operations: [RelayOperation]) {
    act { state, actions in
      for operation in operations { perform(operation, &state, &actions) }
    }
  }

  private func perform(
    _ operation: RelayOperation, _ state: inout State, _ actions: inout [MemberAction]
  ) {
    switch operation {
    case .subscribe(let pattern, let group):
      state.member.subscribe(known(pattern), group: group ?? "", &actions)
    case .unsubscribe(let pattern, let group):
      state.member.unsubscribe(known(pattern), group: group ?? "", &actions)
    case .answer(let pattern): state.member.answer(known(pattern), &actions)
    case .stopAnswering(let pattern): state.member.stopAnswering(known(pattern), &actions)
    case .posts(var posts):
      while let post = posts.popFirst() {
        let heading = posts.headings[post.heading]
        state.member.post(
          subject: heading.subject, version: heading.version, path: heading.path,
          payload: Array(posts.bytes[post.payload]), &actions)
      }
    case .request(let correlation, let subject, let version, let payload, let milliseconds):
      state.member.request(
        correlation, subject: subject, version: version, payload: payload,
        milliseconds: milliseconds, &actions)
    case .forget(let tokens): state.member.forget(tokens)
    case .reply(let to, let correlation, let status, let payload):
      state.member.reply(
        to: MemberID(rawValue: to), correlation, status, payload: payload, &actions)
    case .flush(let token), .flushPosts(let token): state.member.flush(token, &actions)
    case .endHearing: state.member.leaveGroups(&actions)
    }
  }

  /// A message that this member received as one of a group has been delivered, or is returned.
  fileprivate func done(_ group: String, _ key: Message.Key, _ isTaken: Bool) {
    queue.async {
      self.act { state, actions in state.member.taken(group, key, isTaken, &actions) }
    }
  }

  private func known(_ pattern: String) -> SubjectPattern {
    // The relay has checked it.
    try! SubjectPattern(validating: pattern)
  }

  func setReading(_ reads: Bool) {
    let channel = state.withLock { state in
      state.isReading = reads
      return reads || state.member.isOpen ? state.channel : nil
    }
    channel?.setReading(reads)
    // While it does not read, it reports from time to time that it makes progress.
    act { _, _ in }
  }

  // MARK: Joining

  private func join() {
    if state.withLock({ $0.isStopped || $0.channel != nil }) { return }
    do throws(SystemError) {
      switch bus {
      case .folder(let folder): try join(in: folder)
      case .memory(let bus): connected(try bus.hub(for: id, silence).connect(), 1)
      }
    } catch {
      report(error.description)
      joinLater(.seconds(1))
    }
  }

  private func join(in folder: BusFolder) throws(SystemError) {
    try prepare(folder)
    let generation = try folder.highestGeneration()
    let known = state.withLock { $0.member.generation }
    if generation == 0 || generation < known {
      // If there was a bus, its files have been deleted, and its members take no messages of an
      // earlier generation.
      return try become(known + 1, in: folder)
    }
    if let socket = try UnixSocket.connecting(to: folder.socketPath(generation)) {
      // The folder was checked by its path, which may lead elsewhere now. The hello names the
      // member and its subscriptions, so another user's process must not receive it.
      if let user = socket.otherUser() {
        throw SystemError(
          sentence: "The socket in the folder \(folder.path) belongs to \(user), not to "
            + "\(UnixSocket.user).")
      }
      if folder.version(generation) != protocolVersion {
        throw SystemError(
          sentence: "The process that passes messages on speaks "
            + (folder.version(generation).map { "version \($0)" } ?? "an earlier version")
            + " of the protocol, and this one version \(protocolVersion). Use the same version of "
            + "the package in both.")
      }
      return connected(socket, generation)
    }
    // Its hub is dead, or about to listen; or it has been stopped before it could.
    let attempts = state.withLock { state in
      if state.attempts.generation != generation { state.attempts = (generation, 0) }
      state.attempts.count += 1
      return state.attempts.count
    }
    let isAbandoned = folder.isAbandoned(generation)
    if isAbandoned || attempts > 20 * silence.ofHub {
      return try become(generation + 1, in: folder, isSilent: !isAbandoned)
    }
    joinLater(.milliseconds(5))
  }

  private func joinLater(_ interval: DispatchTimeInterval) {
    queue.asyncAfter(deadline: .now() + interval) { [weak self] in self?.join() }
  }

  /// Joins after some connections in a row that ended before the bus was open.
  ///
  /// A hub that cannot take a member, or that takes it for broken, closes each connection at once.
  private func joinAgain(after vain: Int) {
    if vain == 0 { return join() }
    if vain >= 8 {
      report(
        "The process that is the hub closes each connection. It has no file descriptors left, or it "
          + "uses another version of this package.")
    }
    joinLater(.milliseconds(min(5 << min(vain, 8), 1_000)))
  }

  private func prepare(_ folder: BusFolder) throws(SystemError) {
    try folder.prepare()
    if state.withLock({ $0.lock != nil }), folder.isAnnounced(id.rawValue) { return }
    watch(folder)
    // Released before there is another one; without any, `look` leaves the next try to `join`.
    _ = state.withLock { $0.lock.take() }
    let lock = try folder.announce(id.rawValue)
    state.withLock { $0.lock = lock }
  }

  /// Looks whenever the files of hubs, or that of this member, change.
  ///
  /// While the system takes no more watches, it looks now and then.
  private func watch(_ folder: BusFolder) {
    let names = ["hub.", folder.memberName(id.rawValue)]
    let watch = FolderWatch(folder.path, of: names, on: .global()) { [weak self] in
      self?.look(in: folder)
    }
    let looksLater = state.withLock { state in
      state.watch = watch
      if watch != nil || state.willLook { return false }
      state.willLook = true
      return true
    }
    if !looksLater { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(500)) { [weak self] in
      guard let self else { return }
      let isUnwatched = state.withLock { state in
        state.willLook = false
        return !state.isStopped && state.watch == nil
      }
      if !isUnwatched { return }
      self.watch(folder)
      look(in: folder)
    }
  }

  /// Leaves the hub if another one follows it, and makes the member's file again if it was deleted.
  ///
  /// Called on any queue.
  private func look(in folder: BusFolder) {
    // Not on the link's queue, where code of messages runs when they are encoded.
    if let hub = state.withLock({ $0.hub }) { hub.queue.async { hub.look() } }
    queue.async {
      if self.state.withLock({ $0.isStopped }) { return }
      // Without the file, the next hub would take the member for dead. If it cannot be made, the
      // member tries again when it joins.
      if self.state.withLock({ $0.lock != nil }), !folder.isAnnounced(self.id.rawValue) {
        try? self.prepare(folder)
      }
      let generation = self.state.withLock { $0.channel == nil ? nil : $0.member.generation }
      if let generation, folder.isClaimed(after: generation) { self.leave() }
    }
  }

  /// Leaves the hub, if it is connected to one, and becomes that of a generation, if no other member
  /// does.
  ///
  /// - Parameters:
  ///   - generation: The generation.
  ///   - folder: The folder of the bus.
  ///   - isSilent: Whether the process of the last hub lives and does not answer. The hub of this
  ///     member would wait for it in vain. Otherwise it joins like the others, as soon as it notices,
  ///     or is dead. Its lock may be released a moment after its connections.
  private func become(
    _ generation: UInt64, in folder: BusFolder, isSilent: Bool = false
  ) throws(SystemError) {
    // Before the claim: otherwise a bus without a number would be claimed again and again.
    var busID = state.withLock { $0.member.busID }
    if busID == 0 { busID = try folder.identify() }
    // Before it leaves, so that the old hub finds the claim when it continues without this member.
    let claim = try folder.claim(generation)
    _ = disconnect()
    guard let claim else { return joinLater(.milliseconds(2)) }
    let (knownID, hub, patience) = state.withLock { state in
      // The hub of an earlier generation is a member now, and may have messages that no other has.
      let isNext = state.member.generation + 1 == generation
      // On a machine that is too slow for a hub to open in time, the next one waits for longer.
      let patience = silence.ofMembers << min(state.vainConnections, 3)
      return (state.member.busID, isNext ? state.member.hub : nil, patience)
    }
    // What was left to read may have named the bus. The file may have been lost, and made again, since
    // another hub has read it.
    if knownID != 0 { busID = knownID }
    var expected = Set(try folder.livingMembers().map { MemberID(rawValue: $0) })
    expected.remove(id)
    let silent = isSilent ? hub.flatMap { expected.remove($0) } : nil
    let state = HubState(
      generation: generation, busID: busID, own: id, expected: expected, silent: silent,
      logLimit: max(HubState.standardLogLimit, logLimit), silenceLimit: silence.ofMembers,
      patience: patience)
    let server = HubServer(state, at: try .init(in: folder, generation, claim)) {
      [weak self] reason in self?.reportRefusal(reason)
    }
    server.start()
    do {
      let socket = try server.connect()
      self.state.withLock { ($0.hub, $0.wantsHub) = (server, false) }
      connected(socket, generation)
    } catch {
      server.close()
      throw error
    }
  }

  private func connected(_ socket: consuming UnixSocket, _ generation: UInt64) {
    // There are no events of a channel that has been closed.
    let channel = SocketChannel(socket, on: queue) { [weak self] in self?.handle($0) }
    state.withLock { ($0.channel, $0.parser, $0.attempts) = (channel, FrameParser(), (0, 0)) }
    act { $0.member.connected(generation: generation, isOwnHub: $0.hub != nil, &$1) }
    // The change of a folder that was reported before the member was connected had no effect.
    if case .folder(let folder) = bus { look(in: folder) }
  }

  private func reportRefusal(_ reason: String) {
    queue.async { self.state.withLock { $0.receiver }?.receive([.sentAway(reason)]) }
  }

  private func report(_ trouble: String) {
    let receiver = state.withLock { state -> (any RelayReceiver)? in
      if state.trouble == trouble { return nil }
      state.trouble = trouble
      return state.receiver
    }
    receiver?.receive([.disconnected(trouble)])
  }

  // MARK: Events

  private func tick() {
    let hasGoneOn = state.withLock { $0.receiver }?.hasGoneOn() ?? false
    act { state, actions in
      let isReading = state.channel != nil && (state.isReading || !state.member.isOpen)
      state.member.tick(isReading: isReading, hasGoneOn: hasGoneOn, &actions)
    }
  }

  private func handle(_ event: ChannelEvent) {
    switch event {
    case .read(let bytes):
      let isBroken = act { state, actions in state.read(bytes, &actions) }
      if isBroken { leave() }
    case .readEnd: act { $0.member.endRead(&$1) }
    case .written: break
    case .closed: leave()
    }
  }

  /// Leaves the hub, and looks for another one.
  private func leave() {
    if let vain = disconnect() { joinAgain(after: vain) }
  }

  /// Closes the connection.
  ///
  /// - Returns: How many connections in a row have ended before the bus was open; nothing without a
  ///   connection.
  private func disconnect() -> Int? {
    guard let (channel, hub, vain) = state.withLock({ $0.leave() }) else { return nil }
    // Bytes that have arrived may be stored nowhere else, and the member may have stopped reading.
    let rest = channel.readRest()
    channel.close()
    if let hub { hub.queue.async { hub.close() } }
    act { state, actions in
      state.member.isLeaving = true
      for bytes in rest where state.read(bytes[...], &actions) { break }
      state.member.endRead(&actions)
      state.member.disconnected(&actions)
    }
    return vain
  }

  /// Leaves the hub, and becomes the next one.
  private func leave(claiming generation: UInt64, in folder: BusFolder, isSilent: Bool) {
    if state.withLock({ $0.channel == nil }) { return }
    do throws(SystemError) {
      try become(generation, in: folder, isSilent: isSilent)
    } catch {
      _ = disconnect()
      // It would fail again, and each time take the member off the bus.
      state.withLock { $0.wantsHub = false }
      report(error.description)
      joinLater(.seconds(1))
    }
  }

  /// Asks the state, and does what it says.
  @discardableResult
  private func act<Result: Sendable>(
    _ body: (inout State, inout [MemberAction]) -> Result
  ) -> Result {
    let (result, incidents, receiver, silent, wanted) = state.withLock { state in
      var actions: [MemberAction] = []
      let result = body(&state, &actions)
      var incidents: [RelayIncident] = []
      let silent = state.perform(actions, of: self, &incidents)
      let wanted = state.wantsHub && state.member.isOpen ? state.member.generation + 1 : nil
      let isDeaf = state.channel != nil && !state.isReading
      if ticks.set(state.member.needsTicks || isDeaf) { state.member.beginTicks() }
      return (result, incidents, state.receiver, silent, wanted)
    }
    receiver?.receive(consume incidents)
    guard case .folder(let folder) = bus else { return result }
    if let silent {
      if folder.isClaimed(silent + 1) {
        leave()
      } else {
        leave(claiming: silent + 1, in: folder, isSilent: true)
      }
    } else if let wanted {
      leave(claiming: wanted, in: folder, isSilent: false)
    }
    return result
  }
}

extension MemberLink.State {
  /// Takes the connection and the hub out.
  ///
  /// - Returns: Both, and how many connections in a row have ended before the bus was open; nothing
  ///   without a connection.
  fileprivate mutating func leave() -> (channel: SocketChannel, hub: HubServer?, vain: Int)? {
    guard let channel else { return nil }
    defer { (self.channel, hub) = (nil, nil) }
    if member.isOpen { (vainConnections, trouble) = (0, "") } else { vainConnections += 1 }
    return (channel, hub, vainConnections)
  }

  /// - Returns: Whether the hub breaks the format.
  fileprivate mutating func read(
    _ bytes: ArraySlice<UInt8>, _ actions: inout [MemberAction]
  ) -> Bool {
    parser.append(bytes)
    do throws(FrameError) {
      while let frame = try parser.next() { member.received(frame, &actions) }
      return false
    } catch {
      return true
    }
  }

  /// - Returns: The generation whose hub is silent.
  fileprivate mutating func perform(
    _ actions: [MemberAction], of link: MemberLink, _ incidents: inout [RelayIncident]
  ) -> UInt64? {
    var bytes: [UInt8] = []
    var silent: UInt64?
    var drops: [String: Int] = [:]
    for action in actions {
      switch action {
      case .send(let frame): frame.append(to: &bytes)
      case .silent(let last): silent = last
      case .dropped(_, let subject): drops[subject, default: 0] += 1
      case .opened:
        // Not before: the hub would wait for the log of a member that does not read.
        if !isReading { channel?.setReading(false) }
        incidents.append(.connected)
      default: if let incident = incident(action, of: link) { incidents.append(incident) }
      }
    }
    for (subject, count) in drops.sorted(by: { $0.key < $1.key }) {
      incidents.append(dropped(subject, count))
    }
    if let channel, !bytes.isEmpty {
      channel.send(bytes)
      channel.flush()
    }
    return silent
  }

  private func incident(_ action: MemberAction, of link: MemberLink) -> RelayIncident? {
    switch action {
    case .deliver(let message):
      .message(
        sender: message.sender.rawValue, subject: message.subject, version: message.version,
        path: message.path, payload: message.payload)
    case .share(let group, let message):
      .awaited(
        group: group, sender: message.sender.rawValue, subject: message.subject,
        version: message.version, path: message.path, payload: message.payload,
        done: { [weak link, key = message.key] in link?.done(group, key, $0) })
    case .unheard(let count): .unheard(count)
    case .lost(let loss):
      .lost(
        sender: loss.sender.rawValue, subject: loss.subject,
        count: (1...RelayLimits.countedLosses).contains(loss.count) ? Int(loss.count) : nil,
        "This process took less than was sent, or was away for longer than others keep messages.")
    case .closed: .disconnected("")
    case .peers(let peers, let hub):
      .peers(
        peers.filter { $0.id != member.id }.map {
          RelayPeer(
            id: $0.id.rawValue, name: $0.name, processID: $0.processID, isHub: $0.id == hub)
        })
    case .flushed(let token): .flushed(token)
    case .requested(let request):
      .request(
        from: request.from.rawValue, correlation: request.correlation, subject: request.subject,
        version: request.version, payload: request.payload)
    case .replied(let correlation, let status, let payload):
      .reply(correlation: correlation, status, payload: payload)
    case .send, .silent, .dropped, .opened: nil
    }
  }

  private func dropped(_ subject: String, _ count: Int) -> RelayIncident {
    .lost(
      sender: member.id.rawValue, subject: subject, count: count,
      "More was posted than the relay's buffer holds until it is sent, or than its group takes.")
  }
}
