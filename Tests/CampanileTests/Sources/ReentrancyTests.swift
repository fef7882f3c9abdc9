import Testing

@testable import Campanile

@Suite("K7: re-entrancy", .ownThread)
struct ReentrancyTests {
  private let center = MessageCenter()
  private let heard = Recorder<String>()

  @Test("K7 an observer can release its own token")
  func releasesItself() {
    let slot = Slot<ObservationToken>()
    let live = LiveCount()
    do {
      let tracked = Tracked(live)
      slot.set(
        center.observe(Tick.self) { [heard, tracked] _ in
          slot.set(nil)
          tracked.touch()
          heard.record("once")
        })
    }
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    #expect(heard.values == ["once"])
    #expect(live.current == 0)
  }

  @Test("K7 D6 No lock is held while an observer runs or is released", arguments: [1, 2, 8])
  func noLockIsHeld(width: Int) {
    // On another thread, which a lock that is held here would never be given to.
    let useElsewhere = { @Sendable [center] in
      onThread {
        center.observe(Tock.self) { _ in }.cancel()
        center.post(Tock())
      }()
    }
    onThreads(width) { [center, heard] thread in
      for _ in 0..<50 {
        let token = center.observe(
          Tick.self,
          onRelease: {
            useElsewhere()
            heard.record("released")
          },
          { tick in if tick.number == thread { useElsewhere() } })
        center.post(Tick(number: thread))
        token.cancel()
      }
    }
    #expect(heard.count == width * 50)
  }

  @Test(
    "K7 a closure that a leaving post releases can post, observe and cancel", arguments: [1, 2, 8])
  func releaseByPost(width: Int) {
    onThreads(width) { [heard] _ in
      let center = MessageCenter()
      let slot = Slot<ObservationToken>()
      slot.set(
        center.observe(
          Tick.self,
          onRelease: { [weak center] in
            center?.post(Tock())
            center?.observe(Tock.self) { _ in }.cancel()
            heard.record("released")
          },
          { _ in slot.value?.cancel() }))
      center.post(Tick(number: 1))
      #expect(slot.value?.isActive == false)
    }
    #expect(heard.count == width)
  }

  @Test("K7 who waited for a post to leave can use the source at once", arguments: [1, 2, 8])
  func resumeByPost(width: Int) {
    onThreads(width) { [heard] _ in
      let source = Broadcaster<Int>()
      let inside = Gate()
      let token = source.observe { _ in inside.pass() }
      let post = onThread { source.send(1) }
      inside.waitUntilReached()
      source.registry.end(token.registration) {
        source.observe { _ in }.cancel()
        heard.record("resumed")
      }
      inside.open()
      post()
    }
    #expect(heard.count == width)
  }

  @Test("K7 E3 an owner whose deinit posts, observes and removes")
  func ownerDeinit() {
    final class Caller: Sendable {
      let center: MessageCenter
      init(_ center: MessageCenter) { self.center = center }
      deinit {
        center.post(Tock())
        center.removeObservers(ownedBy: self)
        center.observe(Tock.self) { _ in }.cancel()
      }
    }
    let slot = Slot<Caller>()
    slot.set(Caller(center))
    let tock = center.observe(Tock.self) { [heard] _ in heard.record("tock") }
    do {
      let caller = slot.value
      if let caller {
        center.observe(Tick.self, owner: caller) { [heard] _, _ in
          slot.set(nil)
          heard.record("tick")
        }
      }
    }
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    #expect(heard.values == ["tick", "tock"])
    #expect(center.observerCount == 1)
    withExtendedLifetime(tock) {}
  }

  @Test("K7 an observer can release the center it is called by")
  func releasesCenter() {
    let slot = Slot<MessageCenter>()
    slot.set(MessageCenter())
    let token = slot.value?.observe(Tick.self) { [heard] _ in
      slot.set(nil)
      heard.record("heard")
    }
    slot.value?.post(Tick(number: 1))
    #expect(heard.values == ["heard"])
    #expect(token?.isActive == false)
  }

  @Test("K7 a queue observer can cancel, pause, observe and wait for nobody")
  func onQueue() {
    let queue = TestQueue()
    let slot = Slot<ObservationToken>()
    let waits = Recorder<Registration.Wait>()
    slot.set(
      center.observe(Tick.self, on: queue.delivery) { [center, heard] tick in
        heard.record("\(tick.number)")
        center.post(Tock())
        if let token = slot.value { waits.record(token.cancelAndWait()) }
      })
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    queue.flush()
    #expect(heard.values == ["1"])
    #expect(waits.values == [.insideObserver])
  }

  @Test("K7 a value can use the current value that held it when it is released")
  func valueRelease() {
    let state = CurrentValue<OnRelease?>(nil)
    func set() {
      state.value = OnRelease { [weak state, heard] in
        heard.record(state?.value == nil ? "gone" : "there")
      }
    }
    set()
    state.value = nil
    #expect(heard.values == ["gone"])
    let token = state.observe { _ in }
    set()
    state.value = nil
    set()
    // Returned, because inside the update it may not use the state.
    state.update { value in
      defer { value = nil }
      return value
    }
    #expect(heard.values == ["gone", "gone", "gone"])
    withExtendedLifetime(token) {}
  }

  @Test("K7 what a task does as it is cancelled with its observer may use the center")
  func cancellationHandler() async {
    let gate = AsyncGate()
    let slot = Slot<ObservationToken>()
    let other = center.observe(Tock.self) { [heard] _ in heard.record("tock") }
    let token = center.messages(of: Tick.self).observeAsync { [center] _ in
      await withTaskCancellationHandler {
        await gate.pass()
      } onCancel: {
        slot.set(center.observe(Tock.self) { _ in })
        center.post(Tock())
        other.cancel()
      }
    }
    center.post(Tick(number: 1))
    await gate.waitUntilReached()
    token.cancel()
    #expect(heard.values == ["tock"])
    #expect(center.observerCount == 1)
    gate.open()
    slot.set(nil)
  }

  @Test(
    "K7 a target that goes with its last registration may use the center",
    arguments: [Buffering.unbounded, .newest(1)])
  func targetGoes(buffering: Buffering) {
    final class Place: DeliveryTarget {
      let mailbox = Mailbox()
      let end: OnRelease
      init(_ end: OnRelease) { self.end = end }
      func enqueue(_ job: DeliveryJob) {}
    }
    func observe() -> ObservationToken {
      let end = OnRelease { [center, heard] in
        center.observe(Tick.self) { [heard] _ in heard.record("tick") }.cancel()
        center.post(Tick(number: 2))
        heard.record("gone")
      }
      return center.observe(Tick.self, on: .target(Place(end), buffering: buffering)) { _ in }
    }
    let token = observe()
    center.post(Tick(number: 1))
    #expect(heard.values == [])
    token.cancel()
    #expect(heard.values == ["gone"])
  }

  /// What an update may not do with the value that it updates.
  enum OwnUse: Codable, CaseIterable, Sendable { case set, get, update, finish, resume }

  @Test(
    "K7 using a current value inside its own update is a precondition failure",
    arguments: OwnUse.allCases)
  func updateTraps(use: OwnUse) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [use = use as OwnUse] in
      let state = CurrentValue(1)
      let token = state.observe { _ in }
      token.pause()
      state.value = 2
      state.update { value in
        switch use {
        case .set: state.value = 2
        case .get: value = state.value + 1
        case .update: state.update { $0 = 2 }
        case .finish: state.finish()
        case .resume: token.resume()
        }
      }
    }
    expect(result, says: "used inside its own update(_:)")
  }

  #if DEBUG && canImport(Glibc)
    @Test("K7 a thread that takes over the number of an updater that has ended may use the value")
    func updaterEnds() async {
      // In a process of its own, where a thread has the number of the one that ended last.
      await #expect(processExitsWith: .success) {
        let gates = CheckpointGates()
        let state = CurrentValue(1, registry: gates.makeRegistry())
        let (updating, numbers) = (Gate(), Recorder<UInt>())
        let asking = gates.hold(at: .willAskForUpdater)
        let updater = onThread {
          onEndedThreads {
            state.update { value in
              numbers.record(CallingThread.id)
              updating.pass()
              value = 2
            }
          }
        }
        updating.waitUntilReached()
        let user = onThread {
          state.value = 3
          numbers.record(CallingThread.id)
        }
        asking.waitUntilReached()
        updating.open()
        updater()
        asking.open()
        user()
        #expect(state.value == 3)
        #expect(Set(numbers.values).count == 1)
      }
    }
  #endif
}
