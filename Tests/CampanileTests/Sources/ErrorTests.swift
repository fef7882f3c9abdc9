import Testing

@testable import Campanile

@Suite("K13: errors", .ownThread)
struct ErrorTests {
  private let heard = Recorder<Int>()
  private let center = MessageCenter()
  private let failures: Recorder<ObserverFailure>
  private let queue = TestQueue()

  init() { failures = Recorder(observing: center.failures) }

  @Test("K13 a failure has the error, the type, the file and the line")
  func failure() {
    let token = center.observe(Tick.self, file: "Some/File.swift", line: 42) { _ in
      throw TestFailure()
    }
    center.post(Tick(number: 1))
    withExtendedLifetime(token) {}
    let failure = failures.values.first
    #expect(failure?.error as? TestFailure == TestFailure())
    #expect(failure?.valueType == Tick.self)
    #expect(failure?.file == "Some/File.swift")
    #expect(failure?.line == 42)
    #expect(
      failure?.description
        == "The observer of Tick registered at Some/File.swift:42 threw TestFailure()")
  }

  @Test("K13 a cancellation that is not the observer's own is an error like any other")
  func foreignCancellation() async throws {
    let tokens = [
      center.observe(Tick.self) { _ in throw CancellationError() },
      center.messages(of: Tick.self).observeAsync { _ in throw CancellationError() },
    ]
    try await center.postAndWait(Tick(number: 1))
    #expect(failures.values.count { $0.error is CancellationError } == 2)
    #expect(tokens.allSatisfy { $0.isActive })
  }

  @Test("K13 the file and the line are the caller's, in every form")
  func places() async throws {
    let screen = Screen()
    let player = Player()
    let statistics = Statistics()
    let levels = center.messages(of: LevelChanged.self)
    let first: UInt = #line + 2
    let tokens = [
      center.observe(LevelChanged.self, on: queue.delivery) { _ in throw TestFailure() },
      center.observe(LevelChanged.self, on: .main) { _ in throw TestFailure() },
      levels.withSubject.observe { _ in throw TestFailure() },
      levels.observe(on: .main) { _ in throw TestFailure() },
      center.anyMessage.observe { _ in throw TestFailure() },
      levels.observeAsync { _ in throw TestFailure() },
    ]
    center.observe(LevelChanged.self, owner: screen) { _, _ in throw TestFailure() }
    center.observe(LevelChanged.self, owner: screen, on: .main) { _, _ in throw TestFailure() }
    levels.observe(owner: screen) { _, _ in throw TestFailure() }
    levels.withSubject.observe(owner: screen, on: .main) { _, _ in throw TestFailure() }
    center.observe(LevelChanged.self, on: statistics) { _, _ in throw TestFailure() }
    levels.observe(on: statistics) { _, _ in throw TestFailure() }
    try await center.postAndWait(LevelChanged(level: 1), about: player)
    withExtendedLifetime((tokens, screen, statistics)) {}
    let lines = Array(Int(first)..<Int(first) + 6) + Array(Int(first) + 7..<Int(first) + 13)
    #expect(failures.values.map(\.line).sorted() == lines)
    #expect(failures.values.allSatisfy { $0.file == #fileID })
  }

  @Test("K7 K13 an observer of the failures may post, cancel and observe")
  func reentrant() {
    let slot = Slot<MessageCenter>()
    let token = Slot<ObservationToken>()
    let center = MessageCenter()
    let failures = center.failures.observe { [heard] _ in
      token.value?.cancel()
      slot.value?.post(Tock())
      slot.value?.observe(Tock.self) { _ in }.cancel()
      heard.record(1)
    }
    slot.set(center)
    token.set(center.observe(Tick.self) { _ in throw TestFailure() })
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    slot.set(nil)
    token.set(nil)
    #expect(heard.values == [1])
    withExtendedLifetime(failures) {}
  }

  @Test("K13 while nobody observes the failures one line goes to standard error")
  func standardError() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let center = MessageCenter()
      let token = center.observe(Tick.self, file: "Some/File.swift", line: 42) { _ in
        throw TestFailure()
      }
      center.post(Tick(number: 1))
      let other = center.observe(Tock.self, file: "F", line: 43) { _ in throw LongFailure() }
      center.post(Tock())
      withExtendedLifetime((token, other)) {}
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.contains("threw") }
    #expect(
      lines == [
        "The observer of Tick registered at Some/File.swift:42 threw TestFailure()",
        "The observer of Tock registered at F:43 threw one line  and another",
      ])
  }

  private struct LongFailure: Error, CustomStringConvertible {
    var description: String { "one line\r\nand another" }
  }

  @Test("K13 a failure whose observers are dead, paused or gone goes to standard error")
  func nobodyListens() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let center = MessageCenter()
      let token = center.observe(Tick.self, file: "F", line: 42) { _ in throw TestFailure() }
      let heard = Recorder<Int>()
      center.failures.observe(owner: Screen()) { _, _ in heard.record(1) }
      center.post(Tick(number: 1))
      let failures = center.failures.observe { _ in heard.record(2) }
      center.post(Tick(number: 2))
      failures.pause()
      center.post(Tick(number: 3))
      failures.resume()
      center.post(Tick(number: 4))
      failures.cancel()
      center.post(Tick(number: 5))
      #expect(heard.values == [2, 2])
      withExtendedLifetime(token) {}
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.contains("threw") }
    #expect(lines.count == 3)
  }

  @Test("K13 failures are observed at any time, by several, and what they throw goes no further")
  func severalObservers() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let (center, heard) = (MessageCenter(), Recorder<Int>())
      let token = center.observe(Tick.self) { _ in throw TestFailure() }
      let failures = [
        center.failures.observe(file: "F", line: 42) { _ in
          heard.record(1)
          throw TestFailure()
        },
        center.failures.observe { _ in heard.record(2) },
      ]
      center.post(Tick(number: 1))
      #expect(heard.values == [1, 2])
      withExtendedLifetime((token, failures)) {}
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.contains("threw") }
    #expect(
      lines == ["The observer of ObserverFailure registered at F:42 threw TestFailure()"])
  }
}
