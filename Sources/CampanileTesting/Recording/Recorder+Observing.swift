public import Campanile

/// Recorders that observe.
extension Recorder {
  /// Records what a source delivers: a broadcaster, a current value's changes, any message, the
  /// changes of a key path.
  ///
  /// ```swift
  /// let volumes = Recorder(observing: player.volume, [.initial])
  /// let everything = Recorder(observing: center.anyMessage)
  /// ```
  ///
  /// - Parameters:
  ///   - source: What is observed. It is not kept alive.
  ///   - delivery: Where the recorder hears it, and recognizes that it does.
  ///   - buffering: How many values wait, if the delivery is not immediate.
  ///   - options: As for `observe`.
  ///   - timeout: How long expectations wait, unless they say otherwise.
  ///   - clock: By which clock.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  public convenience init<Source: ObservationSource<Value>>(
    observing source: Source, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded, _ options: ObservationOptions<Source> = .init(),
    timeout: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(timeout: timeout, clock: clock)
    log.recognize(delivery)
    let token = source.observe(
      on: delivery, buffering: buffering, options, file: file, line: line
    ) { [log] value in log.append(value, actor: nil) }
    keep(token.registration)
    atStop { withExtendedLifetime(token) {} }
  }

  /// Records the messages of one type; for those about one subject, record their source.
  ///
  /// ```swift
  /// let titles = Recorder(observing: TrackChanged.self, in: center)
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type of the messages.
  ///   - center: Where they are posted. It is not kept alive.
  ///   - delivery: Where the recorder hears them, and recognizes that it does.
  ///   - buffering: How many messages wait, if the delivery is not immediate.
  ///   - timeout: How long expectations wait, unless they say otherwise.
  ///   - clock: By which clock.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  public convenience init(
    observing type: Value.Type, in center: MessageCenter, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded,
    timeout: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) where Value: MessageCenter.Message {
    self.init(timeout: timeout, clock: clock)
    log.recognize(delivery)
    let token = center.observe(
      type, on: delivery, buffering: buffering, file: file, line: line
    ) { [log] message in log.append(message, actor: nil) }
    keep(token.registration)
    atStop { withExtendedLifetime(token) {} }
  }

  /// Records what an asynchronous sequence gives, in a task of its own, until it ends.
  ///
  /// ``stop()`` and the recorder's end cancel the task. How the sequence ended, see
  /// ``expectEnd(within:file:line:)``.
  ///
  /// - Parameters:
  ///   - sequence: What is read. Sequences of this package hear from the moment they are made.
  ///   - timeout: How long expectations wait, unless they say otherwise.
  ///   - clock: By which clock.
  public convenience init<Values: AsyncSequence & Sendable>(
    reading sequence: Values, timeout: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock()
  ) where Values.Element == Value {
    self.init(timeout: timeout, clock: clock)
    var iterator = sequence.makeAsyncIterator()
    if let iterator = iterator as? ValueSequence<Value>.Iterator, let one = iterator.registration {
      keep(one)
    }
    let task = Task { [log] in
      do {
        while let value = try await iterator.next() { log.append(value, actor: nil) }
        log.finish(.success(()))
      } catch {
        log.finish(.failure(error))
      }
    }
    atStop { task.cancel() }
  }

  /// Remembers a registration as the recorder's, until the recorder stops and ends it.
  private func keep(_ registration: Registration) {
    RecorderRegistrations.insert(registration)
    atStop {
      registration.cancel()
      RecorderRegistrations.remove(registration)
    }
  }
}

/// The registrations of the recorders of this process that have not stopped.
enum RecorderRegistrations {
  private static let known = Locked<Set<Registration>>([])

  static func contains(_ registration: Registration) -> Bool {
    known.withLock { $0.contains(registration) }
  }

  fileprivate static func insert(_ registration: Registration) {
    known.withLock { _ = $0.insert(registration) }
  }

  fileprivate static func remove(_ registration: Registration) {
    // Released outside the lock: a source's list may go with it.
    let removed = known.withLock { $0.remove(registration) }
    withExtendedLifetime(removed) {}
  }
}
