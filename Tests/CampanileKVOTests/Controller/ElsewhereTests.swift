import Campanile
import CampanileKVO
import Testing

/// Observations of a controller whose observers run at another place.
@Suite("Observing elsewhere with a controller", .ownThread)
struct ElsewhereTests {
  struct Failure: Error {}

  let meter = Meter()
  let owner = SharedLog()
  let queue = TestQueue()

  private func follow(_ kvo: KVOController<SharedLog>, _ policy: KVOController<SharedLog>.Policy)
    -> KVOResult
  {
    kvo.observe(meter, \.count, options: [.initial, .old], policy: policy, on: queue.delivery) {
      owner, meter, change in
      owner.lines.record("\(change.phase) \(change.old ?? -1) \(change.new) of \(type(of: meter))")
    }
  }

  @Test("The observer gets owner, object and change at its place, until it is unobserved")
  func atItsPlace() {
    let kvo = KVOController(owner: owner)
    queue.hold()
    #expect(follow(kvo, .ignore).outcome == .added)
    #expect(follow(kvo, .ignore).outcome == .alreadyObserved)
    meter.count = 1
    #expect(owner.lines.count == 0)
    queue.letGo()
    queue.flush()
    #expect(owner.lines.values == ["initial -1 0 of Meter", "changed 0 1 of Meter"])
    #expect(kvo.isObserving(meter, \.count) && kvo.observationCount == 1)
    queue.hold()
    meter.count = 2
    kvo.unobserve(meter, \.count)
    queue.letGo()
    queue.flush()
    #expect(owner.lines.count == 2 && kvo.observationCount == 0)
  }

  @Test("Replacing ends the observation before, and appending does not", arguments: [true, false])
  func policy(isReplaced: Bool) {
    let kvo = KVOController(owner: owner)
    let first = follow(kvo, .ignore)
    let second = follow(kvo, isReplaced ? .replace : .append)
    #expect(first.registration.isActive == !isReplaced && second.registration.isActive)
    queue.flush()
    let before = owner.lines.count
    meter.count = 1
    queue.flush()
    #expect(owner.lines.count - before == (isReplaced ? 1 : 2))
  }

  @Test("The observer of a main delivery is isolated to the main actor")
  @MainActor func onMain() async {
    let (kvo, values) = (KVOController(owner: owner), Recorder<Int>())
    kvo.observe(meter, \.count, on: .main) { owner, meter, change in
      MainActor.preconditionIsolated()
      values.record(change.new)
    }
    meter.count = 1
    let meter = meter
    onThread { meter.count = 2 }()
    #expect(await values.waits(for: 2, within: patience))
    #expect(values.values == [1, 2])
    withExtendedLifetime(kvo) {}
  }

  @Test("Errors go to the handler of the controller, and nothing is kept of what has ended")
  func errorsAndEnds() {
    let failures = Recorder<String>()
    let count = LiveCount()
    do {
      let kvo = KVOController(owner: owner) { failures.record("\($0.error)") }
      let mark = Tracked(count)
      kvo.observe(meter, \.count, on: .immediate) { _, _, _ in
        mark.touch()
        throw Failure()
      }
      meter.count = 1
    }
    #expect(failures.values == ["Failure()"])
    #expect(count.current == 0)
  }

  @Test("A result is described in one line, with the key path, the owner, the file and the line")
  func description() {
    let kvo = KVOController(owner: owner)
    let line = #line + 1
    let text = "\(kvo.observe(meter, \.count) { _, _, _ in })"
    #expect(text.hasPrefix("added: Meter ") && !text.contains("\n"))
    #expect(text.hasSuffix(", owner SharedLog (\(#fileID):\(line))"))
    #expect(
      "\(kvo.observe(meter, \.count) { _, _, _ in })"
        == text.replacing("added", with: "alreadyObserved"))
  }
}
