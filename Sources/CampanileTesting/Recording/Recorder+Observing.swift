public import Campanile

/// Recorders that observe.
extension Recorder {
  /// Records the elements of a source, such as a broadcaster, a current value, any message, or a
  /// key path.
  ///
  /// ```swift
  /// let volumes = Recorder(observing: player.volume, options: [.initial])
  /// let everything = Recorder(observing: center.anyMessage)
  /// ```
  ///
  /// - Parameters:
  ///   - source: The observed source. It is not kept alive.
  ///   - delivery: Where the recorder is called. The recorder recognizes this place.
  ///   - options: The options of `observe`.
  ///   - timeout: How long expectations wait by default.
  ///   - clock: The clock that measures the timeouts.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  public convenience init<Source: ObservationSource<Value>>(
    observing source: Source, on delivery: Delivery = .immediate,
    options: ObservationOptions<Source> = .init(),
    timeout: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(timeout: timeout, clock: clock)
    log.recognize(delivery)
    let token = source.observe(
      on: delivery, options: options, file: file, line: line
    ) { [log] value in log.append(value, deliveredBy: delivery) }
    keep(token.registration)
    atStop { withExtendedLifetime(token) {} }
  }

  /// Records the messages of one type.
  ///
  /// For messages about one subject, record their source.
  ///
  /// ```swift
  /// let titles = Recorder(observing: TrackChanged.self, in: center)
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type of the messages.
  ///   - center: The center that they are posted to. It is not kept alive.
  ///   - delivery: Where the recorder is called. The recorder recognizes this place.
  ///   - timeout: How long expectations wait by default.
  ///   - clock: The clock that measures the timeouts.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  public convenience init(
    observing type: Value.Type, in center: MessageCenter, on delivery: Delivery = .immediate,
    timeout: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) where Value: MessageCenter.Message {
    self.init(timeout: timeout, clock: clock)
    log.recognize(delivery)
    let token = center.observe(
      type, on: delivery, file: file, line: line
    ) { [log] message in log.append(message, deliveredBy: delivery) }
    keep(token.registration)
    atStop { withExtendedLifetime(token) {} }
  }

  /// Records the elements of an asynchronous sequence until it ends, in a separate task.
  ///
  /// ``stop()`` and the end of the recorder cancel the task. To check how the sequence ended, use
  /// ``expectEnd(within:file:line:)``.
  ///
  /// - Parameters:
  ///   - sequence: The sequence to read. Sequences of this package receive values from their
  ///     creation on.
  ///   - timeout: How long expectations wait by default.
  ///   - clock: The clock that measures the timeouts.
  public convenience init<Values: AsyncSequence & Sendable>(
    reading sequence: Values, timeout: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock()
  ) where Values.Element == Value {
    self.init(timeout: timeout, clock: clock)
    if let values = sequence as? ValueSequence<Value> { keep(values.registration) }
    var iterator = sequence.makeAsyncIterator()
    let task = Task { [log] in
      do {
        while let value = try await iterator.next() { log.append(value) }
        log.finish(.success(()))
      } catch {
        log.finish(.failure(error))
      }
    }
    atStop { task.cancel() }
  }

  /// Marks a registration as the recorder's, and ends it when the recorder stops.
  private func keep(_ registration: Registration) {
    RecorderRegistrations.insert(registration)
    atStop {
      registration.cancel()
      RecorderRegistrations.remove(registration)
    }
  }
}

/// The registrations of all recorders of this process that have not stopped.
enum RecorderRegistrations {
  private static let known = Locked<Set<Registration>>([])

  static func contains(_ registration: Registration) -> Bool {
    known.withLock { $0.contains(registration) }
  }

  fileprivate static func insert(_ registration: Registration) {
    known.withLock { _ = $0.insert(registration) }
  }

  fileprivate static func remove(_ registration: Registration) {
    // Released outside the lock, since this may release the list of a source.
    let removed = known.withLock { $0.remove(registration) }
    withExtendedLifetime(removed) {}
  }
}
