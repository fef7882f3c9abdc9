import Campanile
import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One member of a bus: it joins the hub that there is, or becomes it.
final class MemberLink: RelayLink {
  fileprivate struct State {
    var member: MemberState
    var receiver: (any RelayReceiver)?
    var channel: (any Channel)?
    /// Counts the connections: what an old one still says is not heard.
    var connection = 0
    var parser = FrameParser<HubFrame>()
    /// Whether the relay takes messages.
    ///
    /// Until the member is open, it reads all the same.
    var isReading = true
    /// The hub, if it is part of this member.
    var hub: HubServer?
    var lock: FileLock?
    /// The number of the bus in the folder, for a member that has not heard it from a hub.
    var busID: UInt64 = 0
    /// Whether it is to take over from the hub that it finds.
    var wantsHub: Bool
    /// How often it has been tried to join the hub of a generation that does not listen.
    var attempts = (generation: UInt64(0), count: 0)
    /// How many connections in a row have ended before the bus was open.
    var vainConnections = 0
    /// What was reported last, so that it is reported once.
    var trouble = ""
    /// The relay's numbers of requests, by the member's.
    var correlations: [UInt64: UInt64] = [:]
    var isStopped = false
    /// When the files were given the present time.
    var renewed = ContinuousClock.now
    let timer: any DispatchSourceTimer
  }

  let queue = DispatchQueue(label: "campanile.relay.link")
  let step: UInt64
  private let id: MemberID
  private let bus: Bus
  /// The bytes of messages that are kept for others.
  private let logLimit: Int
  private let silence: SilenceLimits
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
          id: id, name: name, processID: getpid(), buffering: buffering.bufferingPolicy,
          logLimit: logLimit, silenceLimit: silence.ofHub),
        wantsHub: wantsHub, timer: DispatchSource.makeTimerSource(queue: queue)))
  }

  /// The hub, if it is part of this member.
  var hub: HubServer? { state.withLock { $0.hub } }

  // MARK: Life

  func start(_ receiver: any RelayReceiver) {
    state.withLock { state in
      state.receiver = receiver
      state.timer.schedule(deadline: .now() + .milliseconds(100), repeating: .milliseconds(100))
      state.timer.setEventHandler { [weak self] in self?.tick() }
      state.timer.activate()
    }
    queue.async { self.join() }
  }

  func stop() {
    queue.async {
      let (channel, hub, receiver, lock) = self.state.withLock { state in
        state.timer.cancel()
        state.isStopped = true
        defer { (state.channel, state.hub, state.receiver, state.lock) = (nil, nil, nil, nil) }
        return (state.channel, state.hub, state.receiver, state.lock)
      }
      channel?.close()
      if let hub { hub.queue.async { hub.close() } }
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
    case .subscribe(let pattern): state.member.subscribe(known(pattern), &actions)
    case .unsubscribe(let pattern): state.member.unsubscribe(known(pattern), &actions)
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
      let number = state.member.request(
        subject: subject, version: version, payload: payload, milliseconds: milliseconds,
        &actions)
      state.correlations[number] = correlation
    case .forget(let tokens):
      let numbers = state.correlations.filter { tokens.contains($0.value) }.keys.sorted()
      for number in numbers { state.correlations[number] = nil }
      state.member.forget(requests: numbers)
      state.member.forget(flushes: tokens)
    case .reply(let to, let correlation, let status, let payload):
      let request = Request(
        correlation: correlation, from: MemberID(rawValue: to), subject: "", version: 0,
        payload: [])
      state.member.reply(
        to: request, status: ReplyStatus(status), payload: payload, &actions)
    case .flush(let token), .flushPosts(let token): state.member.flush(token, &actions)
    case .endHearing: break
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
  }

  // MARK: Joining

  private func join() {
    if state.withLock({ $0.isStopped || $0.channel != nil }) { return }
    switch bus {
    case .folder(let folder): join(in: folder)
    case .memory(let bus): connect(to: bus.hub(for: id, silence), 1)
    }
  }

  private func join(in folder: BusFolder) {
    do throws(SystemError) {
      try prepare(folder)
      let generation = try folder.highestGeneration()
      let known = state.withLock { $0.member.generation }
      if generation == 0 || generation < known {
        // The files have been deleted, if there was a bus: who was on it takes no messages of an
        // earlier generation.
        return try become(known + 1, folder.claim(known + 1), in: folder)
      }
      if let socket = try UnixSocket.connecting(to: folder.socketPath(generation)) {
        // The folder was checked by its path, which may have led elsewhere since. The hello names the
        // member and what it hears, so another user's process must not receive it.
        let user = socket.peerUser()
        guard user == geteuid() else {
          throw SystemError(
            sentence: "The socket in the folder \(folder.path) belongs to "
              + (user.map { "the user \($0)" } ?? "a user who is not known")
              + ", not to \(geteuid()).")
        }
        let number = newConnection()
        let channel = SocketChannel(socket, on: queue) { [weak self] in
          self?.handle($0, of: number)
        }
        return connected(channel, generation)
      }
      // Its hub is dead, or about to listen; or it has been stopped before it could.
      let attempts = state.withLock { state in
        if state.attempts.generation != generation { state.attempts = (generation, 0) }
        state.attempts.count += 1
        return state.attempts.count
      }
      if attempts > 20 * silence.ofHub || folder.isAbandoned(generation) {
        return try become(generation + 1, folder.claim(generation + 1), in: folder)
      }
      joinLater(.milliseconds(5))
    } catch {
      report(error.description)
      joinLater(.seconds(1))
    }
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
    let busID = try folder.identify()
    let lock = try folder.announce(id.rawValue)
    state.withLock { state in
      state.busID = busID
      state.lock = lock
    }
  }

  /// Becomes the hub of a generation, if nobody else does.
  ///
  /// - Parameters:
  ///   - generation: The generation.
  ///   - claim: The claim of the generation, unless somebody else has it.
  ///   - folder: The folder of the bus.
  ///   - hubAnswers: Whether the last hub is alive and answers. It joins like the others, as soon as
  ///     it notices. Otherwise the hub of this member would wait for it in vain.
  private func become(
    _ generation: UInt64, _ claim: FileLock?, in folder: BusFolder, hubAnswers: Bool = false
  ) throws(SystemError) {
    guard let claim else { return joinLater(.milliseconds(2)) }
    let (busID, hub, patience) = state.withLock { state in
      // The file may have been lost and made again since the others read it.
      let busID = state.member.busID != 0 ? state.member.busID : state.busID
      // Of an earlier generation, the hub has become a member, and may have what nobody else has.
      let isNext = state.member.generation + 1 == generation
      // On a machine that is too slow for a hub to open in time, the next one waits for longer.
      let patience = silence.ofMembers << min(state.vainConnections, 3)
      return (busID, isNext ? state.member.hub : nil, patience)
    }
    var expected = Set(try folder.livingMembers().map { MemberID(rawValue: $0) })
    expected.remove(id)
    if !hubAnswers, let hub { expected.remove(hub) }
    let server = try HubServer(
      generation: generation, busID: busID, own: id, expected: expected, folder: folder,
      logLimit: max(HubState.standardLogLimit, logLimit), silenceLimit: silence.ofMembers,
      patience: patience, claim: claim
    ) { [weak self] reason in self?.reportRefusal(reason) }
    server.start()
    state.withLock { ($0.hub, $0.wantsHub) = (server, false) }
    connect(to: server, generation)
  }

  private func connect(to hub: HubServer, _ generation: UInt64) {
    let number = newConnection()
    connected(hub.connect(on: queue) { [weak self] in self?.handle($0, of: number) }, generation)
  }

  private func newConnection() -> Int {
    state.withLock { state in
      state.connection += 1
      return state.connection
    }
  }

  private func connected(_ channel: any Channel, _ generation: UInt64) {
    state.withLock { ($0.channel, $0.parser, $0.attempts) = (channel, FrameParser(), (0, 0)) }
    act { $0.member.connected(generation: generation, isOwnHub: $0.hub != nil, &$1) }
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

  /// Gives the files that the bus needs the present time, once an hour.
  ///
  /// Systems remove files from folders for temporary ones that are older than some hours or days. Hours
  /// in which the computer sleeps count.
  func renewFiles(at now: ContinuousClock.Instant = .now) {
    guard case .folder(let folder) = bus else { return }
    let isHourOver = state.withLock { state in
      if now - state.renewed < .seconds(3_600) { return false }
      state.renewed = now
      return true
    }
    if !isHourOver { return }
    let (lock, hub) = state.withLock { ($0.lock, $0.hub) }
    lock?.renew()
    hub?.renewFiles()
    folder.renewIdentity()
  }

  // MARK: Events

  private func tick() {
    renewFiles()
    let (receiver, hub) = state.withLock { ($0.receiver, $0.hub) }
    hub?.beat()
    let hasGoneOn = receiver?.hasGoneOn() ?? false
    let deaf = act { state, actions -> UInt64? in
      let isReading = state.channel != nil && (state.isReading || !state.member.isOpen)
      state.member.tick(isReading: isReading, hasGoneOn: hasGoneOn, &actions)
      return state.channel == nil || isReading ? nil : state.member.generation
    }
    // A member that does not read cannot notice that its hub is silent.
    if let deaf, case .folder(let folder) = bus, folder.isClaimed(deaf + 1) { leave() }
  }

  private func handle(_ event: ChannelEvent, of connection: Int) {
    if state.withLock({ $0.connection != connection || $0.channel == nil }) { return }
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
    // What has arrived may be nowhere else, and the member may not have been reading.
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
  private func leave(claiming generation: UInt64, in folder: BusFolder, hubAnswers: Bool) {
    if state.withLock({ $0.channel == nil }) { return }
    do throws(SystemError) {
      // The claim is first, so that the old hub finds it when it goes on without this member.
      let claim = try folder.claim(generation)
      _ = disconnect()
      try become(generation, claim, in: folder, hubAnswers: hubAnswers)
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
    let (result, incidents, receiver, silence, wanted) = state.withLock { state in
      var actions: [MemberAction] = []
      let result = body(&state, &actions)
      var incidents: [RelayIncident] = []
      let silence = state.perform(actions, &incidents)
      let wanted = state.wantsHub && state.member.isOpen ? state.member.generation + 1 : nil
      return (result, incidents, state.receiver, silence, wanted)
    }
    receiver?.receive(consume incidents)
    guard case .folder(let folder) = bus else { return result }
    if let silence {
      if folder.isClaimed(silence.generation + 1) {
        leave()
      } else if silence.claims {
        leave(claiming: silence.generation + 1, in: folder, hubAnswers: false)
      } else {
        lookForNextHub(after: silence.generation, in: folder, times: 9)
      }
    } else if let wanted {
      leave(claiming: wanted, in: folder, hubAnswers: true)
    }
    return result
  }

  /// Looks every ten milliseconds, until the next tick, whether another member has taken over from a
  /// silent hub.
  private func lookForNextHub(after generation: UInt64, in folder: BusFolder, times: Int) {
    queue.asyncAfter(deadline: .now() + .milliseconds(10)) { [weak self] in
      guard let self, self.state.withLock({ $0.isBehind(silent: generation) }) else { return }
      if folder.isClaimed(generation + 1) {
        leave()
      } else if times > 1 {
        lookForNextHub(after: generation, in: folder, times: times - 1)
      }
    }
  }
}

/// A hub from which nothing has been heard.
private struct Silence {
  let generation: UInt64
  /// Whether to take over.
  let claims: Bool
}

extension MemberLink.State {
  /// Whether the member is still connected to the hub of a generation, which is silent.
  fileprivate func isBehind(silent generation: UInt64) -> Bool {
    channel != nil && member.generation == generation && member.hubIsSilent
  }

  /// Takes the connection and the hub out.
  ///
  /// - Returns: Both, and how many connections in a row have ended before the bus was open; nothing
  ///   without a connection.
  fileprivate mutating func leave() -> (channel: any Channel, hub: HubServer?, vain: Int)? {
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

  /// - Returns: What to do about a hub that is silent.
  fileprivate mutating func perform(
    _ actions: [MemberAction], _ incidents: inout [RelayIncident]
  ) -> Silence? {
    var bytes: [UInt8] = []
    var silence: Silence?
    var drops: [String: Int] = [:]
    for action in actions {
      switch action {
      case .send(let frame): frame.append(to: &bytes)
      case .silent(let last, let claims):
        silence = Silence(generation: last, claims: claims)
      case .dropped(_, let subject): drops[subject, default: 0] += 1
      case .opened:
        // Not before: the hub would wait for the log of a member that does not read.
        if !isReading { channel?.setReading(false) }
        incidents.append(.connected)
      default: if let incident = incident(of: action) { incidents.append(incident) }
      }
    }
    for (subject, count) in drops.sorted(by: { $0.key < $1.key }) {
      incidents.append(dropped(subject, count))
    }
    if let channel, !bytes.isEmpty {
      channel.send(bytes)
      channel.flush()
    }
    return silence
  }

  private mutating func incident(of action: MemberAction) -> RelayIncident? {
    switch action {
    case .deliver(let message):
      .message(
        sender: message.sender.rawValue, subject: message.subject, version: message.version,
        path: message.path, payload: message.payload)
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
      correlations.removeValue(forKey: correlation).map {
        .reply(correlation: $0, AnswerStatus(status), payload: payload)
      }
    case .requestFailed(let correlation, let failure):
      correlations.removeValue(forKey: correlation).map {
        .reply(correlation: $0, failure == .timedOut ? .timedOut : .disconnected, payload: [])
      }
    case .send, .silent, .dropped, .opened: nil
    }
  }

  private func dropped(_ subject: String, _ count: Int) -> RelayIncident {
    .lost(
      sender: member.id.rawValue, subject: subject, count: count,
      "More was posted than the relay's buffer holds until it is sent.")
  }
}
