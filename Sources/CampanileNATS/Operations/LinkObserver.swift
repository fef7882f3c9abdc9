#if NATS
  import CampanileRelay
  import Logging
  import Metrics

  /// Reports the events of a link to a logger and to the program's metrics.
  struct LinkObserver: Sendable {
    private let logger: Logger?
    private let isConnected: Gauge
    private let connections, lost, refused: Counter
    private let sentMessages, receivedMessages, sentBytes, receivedBytes: Counter

    init(relay name: String, _ logger: Logger?) {
      var logger = logger
      logger?[metadataKey: "relay"] = "\(name)"
      self.logger = logger
      let dimensions = [("relay", name)]
      func counter(_ name: String) -> Counter {
        Counter(label: "campanile_nats_" + name, dimensions: dimensions)
      }
      connections = counter("connections")
      isConnected = Gauge(label: "campanile_nats_connected", dimensions: dimensions)
      lost = counter("lost_messages")
      refused = counter("refused_messages")
      sentMessages = counter("sent_messages")
      receivedMessages = counter("received_messages")
      sentBytes = counter("sent_bytes")
      receivedBytes = counter("received_bytes")
    }

    func sent(bytes: Int) { if bytes > 0 { sentBytes.increment(by: bytes) } }
    func received(bytes: Int) { receivedBytes.increment(by: bytes) }
    func sent(messages: Int) { if messages > 0 { sentMessages.increment(by: messages) } }
    func received(messages: Int) { if messages > 0 { receivedMessages.increment(by: messages) } }

    /// Another server has taken the place of one that shuts down.
    func changedServers() {
      connections.increment()
      logger?.info("Connected to another server of NATS.")
    }

    /// The relay ends.
    func ended() { isConnected.record(0) }

    func happened(_ incident: RelayIncident) {
      switch incident {
      case .connected:
        connections.increment()
        isConnected.record(1)
        logger?.info("Connected to NATS.")
      case .disconnected(let reason, _):
        isConnected.record(0)
        logger?.notice("No connection to NATS.", metadata: ["reason": "\(reason)"])
      case .lost(_, let subject, let count, let reason):
        lost.increment(by: count ?? 1)
        log("Messages were lost.", subject, reason, ["count": "\(count ?? 1)"])
      case .refused(let subject, let reason):
        refused.increment()
        log("A message was refused.", subject, reason)
      case .denied(let subject, let reason):
        log("The server does not permit it.", subject, reason)
      default: break
      }
    }

    private func log(
      _ text: Logger.Message, _ subject: String?, _ reason: String, _ more: Logger.Metadata = [:]
    ) {
      logger?.warning(
        text, metadata: ["subject": "\(subject ?? "")", "reason": "\(reason)"].merging(more) { $1 })
    }
  }
#endif
