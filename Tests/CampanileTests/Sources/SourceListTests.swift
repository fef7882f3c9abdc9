import Testing

@testable import Campanile

/// What sources in other modules are built on.
@Suite("Lists of sources in other modules", .ownThread)
struct SourceListTests {
  private let list = SourceList(of: Int.self)
  private let heard = Recorder<Int>()

  @Test("K15 The observations are listed with where they were made, until they end")
  func listed() {
    let registration = list.register(
      .init(file: "Some/File.swift", line: 42), ObserverBody { _ in })
    let descriptions = SourceInspection(registration.list, named: "").registrations
    #expect(descriptions.map(\.registration) == [registration])
    #expect(descriptions.map(\.file) == ["Some/File.swift"])
    #expect(descriptions.map(\.line) == [42])
    registration.cancel()
    #expect(SourceInspection(registration.list, named: "").registrations.isEmpty)
  }

  @Test("K1 After its end a list refuses, and says so at once")
  func refused() {
    let ends = Recorder<String>()
    let registration = list.addConfined(
      file: #fileID, line: #line, onEnd: { ends.record("ended") }
    ) { [heard] in heard.record($0) }
    list.post(1)
    list.finish()
    #expect(!registration.isActive)
    #expect(ends.values == ["ended"])
    let late = list.addConfined(
      file: #fileID, line: #line, onEnd: { ends.record("refused") }
    ) { [heard] in heard.record($0) }
    #expect(ends.values == ["ended", "refused"])
    #expect(late == list.ended)
    #expect(late.cancel() == .alreadyEnded)
    #expect(list.register(.init(), ObserverBody { _ in }) == list.ended)
    list.post(2)
    #expect(heard.values == [1])
  }

  @Test("K16 An observer of any kind keeps what it is to keep until it has ended")
  func keeping() async {
    let released = Inbox<Int>()
    let bodies: [ObserverBody<Int>] = [
      ObserverBody { [heard] in heard.record($0) },
      ObserverBody(inPlace: { [heard] value, _ in heard.record(value) }),
      ObserverBody(async: { [heard] in heard.record($0) }),
      ObserverBody(filling: SequenceBuffer(.unbounded)) { [heard] in heard.record($0) },
    ]
    for (index, body) in bodies.enumerated() {
      let list = SourceList(of: Int.self)
      let registration = list.register(
        .init(), body.keeping(OnRelease { released.record(index) }))
      list.post(index)
      #expect(await heard.values(count: index + 1).last == index)
      #expect(released.count == index)
      _ = await registration.cancelAndWait()
      // The task of a call may keep what it called a moment longer than the call takes.
      if body.traits.isAsynchronous { _ = await released.values(count: index + 1) }
      #expect(released.values == Array(0...index))
    }
  }

  @Test("K16 A list that goes before its source has finished releases what its observers captured")
  func unfinished() throws {
    let leaks = LeakTracker()
    let queue = TestQueue()
    func observe() {
      let list = SourceList(of: Int.self)
      for delivery in [Delivery.immediate, queue.delivery] {
        var request = ObservationRequest()
        request.delivery = delivery
        let registration = list.register(
          request,
          ObserverBody { [probe = leaks.makeProbe(delivery.description)] _ in probe.touch() })
        #expect(registration.isActive)
      }
      #expect(leaks.alive.count == 2)
    }
    observe()
    try leaks.expectGone()
  }
}
