import Campanile
import CampanileKVO
import Observation
import TestSupport
import Testing

/// An observer of distinct values ends with the newest one and receives none twice, also if changes
/// that set equal values overlap.
@Suite(.ownThread) struct DistinctOnThreadsTests {
  /// Runs hooks before its value is read, and after it has been set.
  final class Switch: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked(0)
    let willRead = Slot<@Sendable () -> Void>()
    let willStore = Slot<@Sendable () -> Void>()
    let hasSet = Slot<@Sendable () -> Void>()

    var value: Int {
      get {
        registrar.access(self, keyPath: \.value)
        willRead.value?()
        return state.withLock { $0 }
      }
      set {
        registrar.withMutation(of: self, keyPath: \.value) {
          willStore.value?()
          state.withLock { $0 = newValue }
          hasSet.value?()
        }
      }
    }
  }

  let device = Switch()
  let heard = Recorder<Int>()

  private func follow(_ options: KVOChange<Int>.SharedOptions = .distinct) -> ObservationToken {
    device.observe(\.value, options: options) { [heard] in heard.record($1.new) }
  }

  /// Sets a value on another thread, which stays in the setter until the gate is opened.
  private func set(
    _ value: Int, stayingAt gate: Gate, hasStored: Bool = true
  ) -> @Sendable () -> Void {
    let place = hasStored ? device.hasSet : device.willStore
    place.set {
      place.set(nil)
      gate.pass()
    }
    let end = onThread { [device] in device.value = value }
    gate.waitUntilReached()
    return end
  }

  @Test("K14 Distinct tells a value that two threads set at once")
  func sameOnTwoThreads() {
    let token = follow()
    let hasSet = Gate()
    let end = Slot<@Sendable () -> Void>()
    device.willRead.set { [device] in
      device.willRead.set(nil)
      // The change of this thread has begun, and finds what the other one sets.
      end.set(set(5, stayingAt: hasSet))
    }
    device.value = 5
    hasSet.open()
    end.value?()
    #expect(heard.values == [5])
    withExtendedLifetime(token) {}
  }

  @Test(
    "K14 The old value of a distinct change is the new one before, however threads set",
    arguments: [2, 8])
  func oldValues(width: Int) {
    struct Step: Equatable {
      var old: Int?
      var new: Int
    }
    let steps = Recorder<Step>()
    let token = device.observe(\.value, options: [.old, .distinct]) { [steps] in
      steps.record(Step(old: $1.old, new: $1.new))
    }
    onThreads(width) { [device] thread in
      for round in 0..<(4_000 / width) { device.value = (round + thread) % 3 }
    }
    var last = 0
    for step in steps.values {
      #expect(step.old == last && step.new != last)
      last = step.new
    }
    #expect(last == device.value)
    withExtendedLifetime(token) {}
  }

  @Test(
    "K14 Distinct does not tell the initial value again, whatever was in progress",
    arguments: [false, true])
  func initialValueAgain(isCompared: Bool) {
    struct Step: Equatable {
      var old: Int?
      var new: Int
    }
    let steps = Recorder<Step>()
    let (a, b) = (Gate(), Gate())
    let first = device.observe(\.value, options: isCompared ? .distinct : .init()) { _, _ in }
    let five = set(5, stayingAt: a, hasStored: false)
    let token = device.observe(\.value, options: [.initial, .old, .distinct]) { [steps] in
      steps.record(Step(old: $1.old, new: $1.new))
    }
    device.hasSet.set { [device] in
      device.hasSet.set(nil)
      b.pass()
    }
    a.open()
    b.waitUntilReached()
    device.value = 0
    #expect(steps.values == [Step(new: 0)])
    device.value = 3
    #expect(steps.values == [Step(new: 0), Step(old: 0, new: 3)])
    b.open()
    five()
    #expect(steps.values.count == 2)
    withExtendedLifetime((first, token)) {}
  }

  @MainActor @Observable final class Stage {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    let device: Switch
    init(_ device: Switch) { self.device = device }
    /// Read on the main actor alone.
    var value: Int { device.value }
  }

  @Test("K14 Distinct tells a stray change to a value that the main actor has set again meanwhile")
  @MainActor func sameAsStray() async {
    let stage = Stage(device)
    let token = stage.observe(\.value, options: .distinct) { [heard] in heard.record($1.new) }
    onThread { [device] in device.value = 5 }()
    device.value = 5
    await drainMain()
    #expect(heard.values == [5])
    // Two of them are told once: the second one finds what was told for the first.
    onThread { [device] in device.value = 6 }()
    onThread { [device] in device.value = 7 }()
    await drainMain()
    #expect(heard.values == [5, 7])
    device.value = 7
    #expect(heard.values == [5, 7])
    // What was told before is not what is found now.
    onThread { [device] in device.value = 8 }()
    device.value = 8
    await drainMain()
    #expect(heard.values == [5, 7, 8])
    withExtendedLifetime((token, stage)) {}
  }

  @Test("K14 Distinct observers end with the last value, however threads set", arguments: [2, 8])
  func race(width: Int) {
    let token = follow()
    for round in 1...300 {
      onThreads(width) { [device] _ in device.value = round }
      #expect(heard.values.last == round)
    }
    #expect(heard.values == Array(1...300))
    withExtendedLifetime(token) {}
  }
}
