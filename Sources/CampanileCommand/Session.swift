import Campanile
import CampanileNATS
import CampanileRelay
import Dispatch
import Foundation

/// A bus of this host, or NATS servers.
struct BusName: Sendable {
  /// The options of the command line.
  var given: [Option: String] = [:]
  /// The contents of the files that have a secret.
  private var secrets: [Option: String] = [:]

  /// The servers, unless it is a bus of this host.
  var nats: String? { given[.nats] }

  /// The bus of this host that is meant if none is given.
  init() {}

  init(_ words: Words) throws(Arguments.Mistake) {
    for option in Option.ofBus { given[option] = try words.text(option) }
    let first = Option.ofNATS.first(where: words.has)
    try check(
      nats != nil || first == nil,
      "--\(first?.description ?? "") is for servers of NATS, which --nats names.")
    try check(
      nats == nil || given[.bus] == nil && given[.folder] == nil,
      "--nats takes the place of --bus and --folder.")
    try check(
      words.has(.user) == words.has(.password), "--user and --password belong together.")
    try check(
      [Option.user, .nkey, .creds].count(where: words.has) <= 1,
      "Only one of --user, --nkey and --creds can be given.")
    #if !NATS
      try check(
        nats == nil, "This campanile was built without NATS: swift build --traits default,NATS.")
    #elseif !NKeys
      try check(
        !words.has(.nkey) && !words.has(.creds),
        "This campanile was built without NKeys: swift build --traits default,NKeys.")
    #endif
    for option in [Option.password, .nkey] {
      guard let path = given[option] else { continue }
      let text = try? String(contentsOfFile: path, encoding: .utf8)
      secrets[option] = text?.split(whereSeparator: \.isNewline).first.map(String.init)
      try check(
        secrets[option] != nil, "'\(path)', which --\(option) names, can't be read.")
    }
  }

  #if NATS
    private var options: [NATSOption] {
      var options: [NATSOption] = []
      if let user = given[.user], let password = secrets[.password] {
        options.append(.user(user, password: password))
      }
      if let path = given[.ca] { options.append(.trusting(path)) }
      #if NKeys
        if let seed = secrets[.nkey] { options.append(.nkey(seed: seed)) }
        if let path = given[.creds] { options.append(.credentials(path)) }
      #endif
      return options
    }
  #endif

  func transport(becomesHub: Bool = false) -> Relay.Transport {
    #if NATS
      if let nats { return .nats(nats, options: options) }
    #endif
    // A command is on the bus for a moment: the programs there take over from a silent hub first.
    let silence = becomesHub ? SilenceLimits() : SilenceLimits(ofHub: 50)
    return .host(
      given[.bus] ?? "default", in: given[.folder], becomesHub: becomesHub, silence: silence)
  }

  /// The bus, without the passwords that an address may contain.
  var description: String {
    nats == nil ? "bus '\(MessageText.printable(given[.bus] ?? "default"))'" : "NATS server"
  }

  /// How many servers may have to be tried.
  var serverCount: Int { nats.map { Set($0.split(separator: ",")).count } ?? 1 }

  /// The options that name the same bus in another process.
  var arguments: [String] { given.flatMap { ["--\($0)", $1] } }
}

/// A relay for the duration of one command.
final class Session: Sendable {
  let relay: Relay
  let bus: BusName
  private let events: ObservationToken
  /// Observations that last until the session has left the bus.
  private let tokens = Locked<[ObservationToken]>([])
  /// Set once an event with the reason has been printed.
  private let hasReason = Flag()
  /// Yields whether the relay has connected, or a server could not be reached.
  private let (news, attempts) = AsyncStream<Bool>.makeStream()
  private let (endings, endingSource) = AsyncStream<Ending>.makeStream()

  init(_ bus: BusName, name: String, becomesHub: Bool = false) {
    self.bus = bus
    relay = Relay(bus.transport(becomesHub: becomesHub), name: name)
    events = relay.events.observe { [attempts, hasReason] event in
      Output.note(MessageText.printable(event.description))
      guard event.kind == .unavailable else { return }
      hasReason.isSet.withLock { $0 = true }
      attempts.yield(false)
    }
  }

  /// Connects, runs a command until it returns, a signal arrives or `end(_:)` is called, and leaves
  /// the bus.
  func run(_ body: @escaping @Sendable (Session) async throws -> Ending) async -> Ending {
    let signals = endOnSignals()
    let command = Task {
      do {
        try await self.connect()
        self.end(try await body(self))
      } catch let ending as Ending {
        self.end(ending)
      } catch {
        self.end(.failed("\(error)"))
      }
    }
    let ending = await endings.first { _ in true } ?? .done
    command.cancel()
    await leave(after: command, within: ending.status > 128 ? .seconds(2) : nil)
    for signal in signals { signal.cancel() }
    return ending
  }

  /// Waits for the end of the command, and leaves the bus.
  ///
  /// - Parameters:
  ///   - command: The command, which has been canceled.
  ///   - limit: The time for the command and for deliveries in progress, or `nil` for no limit.
  ///     Both may block on a full pipe.
  private func leave(after command: Task<Void, Never>, within limit: Duration?) async {
    let (end, source) = AsyncStream<Never>.makeStream()
    Task { [relay] in
      await command.value
      await relay.drain()
      source.finish()
    }
    if let limit {
      Task {
        try? await Task.sleep(for: limit)
        source.finish()
      }
    }
    for await _ in end {}
  }

  /// Keeps an observation until the session has left the bus.
  func keep(_ token: ObservationToken) { tokens.withLock { $0.append(token) } }

  /// Ends the observations that it keeps.
  func letGo() {
    let kept = tokens.withLock { tokens in
      defer { tokens = [] }
      return tokens
    }
    for token in kept { token.cancel() }
  }

  /// Ends the command, unless it has ended.
  func end(_ ending: Ending) { endingSource.yield(ending) }

  /// Waits until the command is ended by a signal or by `end(_:)`.
  func waitForEnd() async -> Ending {
    // The waiting task is canceled at that time.
    try? await Task.sleep(for: .seconds(Int32.max))
    return .done
  }

  private func endOnSignals() -> [any DispatchSourceSignal] {
    [SIGHUP, SIGINT, SIGTERM].compactMap { number in
      // The parent process may have ignored the signal, as `nohup` does.
      if ProgramCalls.ignores(number) { return nil }
      signal(number, SIG_IGN)
      let arrival = DispatchSource.makeSignalSource(signal: number, queue: .global())
      arrival.setEventHandler { @Sendable [endingSource] in
        endingSource.yield(Ending(status: 128 + number))
        // A second signal ends the program.
        signal(number, SIG_DFL)
        // With one processor, a command that blocks has the only thread that tasks run on.
        DispatchQueue.global().asyncAfter(deadline: .now() + 3) { exit(128 + number) }
      }
      arrival.resume()
      return arrival
    }
  }

  /// Waits for the first connection, until each given server has been tried or its time is over.
  ///
  /// Failures are reported by `events`. Later, the relay reconnects without a limit.
  private func connect() async throws {
    let token = relay.state.changes.observe(options: .initial) { [attempts, hasReason] change in
      if change.new == .connected { attempts.yield(true) }
      // The first attempt may have failed before its event was observed.
      if change.isInitial, case .unavailable(let reason) = change.new,
        !hasReason.isSet.withLock({ $0 })
      {
        Output.note(MessageText.printable(reason))
        attempts.yield(false)
      }
    }
    let servers = bus.serverCount
    let limit = Task { [attempts] in
      // A server that says nothing takes five.
      try await Task.sleep(for: .seconds(5 + 5 * servers))
      attempts.finish()
    }
    defer { limit.cancel() }
    var rest = servers
    for await isConnected in news {
      if isConnected { return withExtendedLifetime(token) {} }
      rest -= 1
      if rest == 0 { break }
    }
    try Task.checkCancellation()
    throw Ending(
      status: 3, reason: "There is no \(bus.description) to be had.")
  }
}

/// A flag that closures share.
private final class Flag: Sendable {
  let isSet = Locked(false)
}
