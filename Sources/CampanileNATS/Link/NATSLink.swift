#if NATS
  import Campanile
  import CampanileRelay
  import Dispatch
  import NIOCore

  /// Carries the messages of one relay through NATS servers.
  final class NATSLink: RelayLink {
    private struct State {
      var link: LinkState
      var receiver: (any RelayReceiver)?
      let timer: any DispatchSourceTimer
    }

    let queue = DispatchQueue(label: "campanile.relay.nats")
    let step: UInt64
    private let configuration: NATSConfiguration
    private let observer: LinkObserver
    private let state: Locked<State>
    /// The messages of a stream that have been delivered, or are given back, since the last turn.
    private let settled = Locked<[(acknowledgment: String, isTaken: Bool)]>([])

    init(_ configuration: NATSConfiguration, name: String, _ buffering: RelayBuffering) {
      self.configuration = configuration
      step = configuration.step
      observer = LinkObserver(relay: name, configuration.logger)
      let session = NATSSession(
        id: .random(in: 1 ... .max), name: name, processID: ProgramCalls.processID,
        inboxPrefix: configuration.inboxPrefix, limit: buffering.byteCount,
        durable: configuration.durable)
      state = Locked(
        State(
          link: LinkState(session, configuration),
          timer: DispatchSource.makeTimerSource(queue: queue)))
    }

    // MARK: Life

    func start(_ receiver: any RelayReceiver) {
      state.withLock { state in
        state.receiver = receiver
        state.link.session.whenSettled = { [weak self] in self?.settle($0, $1) }
        state.timer.schedule(
          deadline: .now() + .seconds(1), repeating: .seconds(1), leeway: .milliseconds(100))
        state.timer.setEventHandler { [weak self] in self?.act { $0.tick() } }
        state.timer.activate()
      }
      queue.async { self.act { $0.connect() } }
    }

    func stop() {
      queue.async {
        let (end, receiver) = self.state.withLock { state in
          state.timer.cancel()
          defer { state.receiver = nil }
          return (state.link.stop(), state.receiver)
        }
        if let (connection, words) = end.last {
          self.observer.sent(bytes: words.readableBytes)
          connection.close(after: words)
        }
        for connection in end.others { connection.close() }
        self.observer.ended()
        withExtendedLifetime(receiver) {}
      }
    }

    // MARK: What the relay wants

    func perform(_ operations: [RelayOperation]) { act { $0.perform(operations) } }

    /// Leaves the server, after what was posted before; from any thread.
    func reconnect() { queue.async { self.act { $0.reconnect() } } }

    /// Connects to other servers.
    func reconnect(to other: NATSConfiguration) {
      queue.async { self.act { $0.reconnect(to: other) } }
    }

    func setReading(_ reads: Bool) {
      for connection in state.withLock({ $0.link.setReading(reads) }) {
        connection.setReading(reads)
      }
    }

    // MARK: Events

    /// Asks the state, and performs its actions; called on the queue.
    private func act(_ body: (inout LinkState) -> Void) {
      var (effects, receiver) = state.withLock { state in
        body(&state.link)
        return (state.link.takeEffects(), state.receiver)
      }
      observer.sent(messages: effects.sentCount)
      observer.received(messages: effects.messageCount)
      for (connection, bytes) in effects.sends {
        observer.sent(bytes: bytes.readableBytes)
        connection.send(bytes)
      }
      if effects.hasChangedServers { observer.changedServers() }
      for connection in effects.closes { connection.close() }
      for (number, address, certificateName) in effects.connects {
        NATSConnection.connect(
          to: address, configuration, certificateName: certificateName
        ) { [weak self, queue, observer] event in
          if case .frames(_, let bytes, _) = event { observer.received(bytes: bytes) }
          queue.async {
            defer {
              if case .frames(_, let bytes, let connection) = event { connection.taken(bytes) }
            }
            if let self {
              self.act { $0.handle(event, of: number) }
            } else if case .connected(let connection) = event {
              // The relay has ended meanwhile.
              connection.close()
            }
          }
        }
      }
      if let wait = effects.wait {
        queue.asyncAfter(deadline: .now() + .milliseconds(wait.milliseconds)) { [weak self] in
          self?.act { $0.waited(wait.number) }
        }
      }
      guard let receiver else { return }
      if effects.hasNews {
        for incident in effects.incidents { observer.happened(incident) }
      }
      // The array has no other owner then, so that the incidents can be taken out of it.
      var incidents: [RelayIncident] = []
      swap(&incidents, &effects.incidents)
      receiver.receive(consume incidents)
    }

    /// Acknowledges a message, or gives it back, in one turn with others.
    private func settle(_ acknowledgment: String, _ isTaken: Bool) {
      let isFirst = settled.withLock { settled in
        settled.append((acknowledgment, isTaken))
        return settled.count == 1
      }
      if !isFirst { return }
      queue.async {
        let settled = self.settled.withLock { settled in
          defer { settled = [] }
          return settled
        }
        self.act { link in
          for (acknowledgment, isTaken) in settled {
            link.settle(acknowledgment, isTaken: isTaken)
          }
        }
      }
    }
  }
#endif
