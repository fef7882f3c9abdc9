import Testing

@testable import Campanile

@Suite("Lifetimes", .ownThread)
struct LifetimeTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()

  @Test("I Actions run at the end, in order, once")
  func actions() {
    var lifetime: Lifetime? = Lifetime()
    for number in 0..<3 { lifetime?.onEnd { [heard] in heard.record(number) } }
    #expect(heard.values.isEmpty)
    lifetime = nil
    #expect(heard.values == [0, 1, 2])
  }

  @Test("What is added after the end runs at once, and what ended then has ended")
  func late() {
    let storage = EndActions()
    storage.end()
    storage.add { [heard] in heard.record(1) }
    #expect(heard.values == [1])
    let token = center.observe(Tick.self) { _ in }
    storage.add(token.registration)
    #expect(!token.isActive)
    storage.end()
    #expect(heard.values == [1])
  }

  @Test("Stored in an object it ends after the deinit's own body")
  func afterDeinit() {
    final class Ending: LifetimeOwner {
      let lifetime = Lifetime()
      let heard: Recorder<Int>
      init(_ heard: Recorder<Int>) { self.heard = heard }
      deinit { heard.record(1) }
    }
    func make() {
      let ending = Ending(heard)
      ending.lifetime.onEnd { [heard] in heard.record(2) }
    }
    make()
    #expect(heard.values == [1, 2])
  }

  @Test("An action may post, observe, cancel and use another lifetime")
  func reentrant() {
    let other = Lifetime()
    let token = center.observe(Tick.self) { [heard] in heard.record($0.number) }
    var lifetime: Lifetime? = Lifetime()
    lifetime?.onEnd { [center] in
      center.post(Tick(number: 1))
      other.onEnd {}
      token.cancel()
      center.post(Tick(number: 2))
    }
    lifetime = nil
    #expect(heard.values == [1])
    withExtendedLifetime(other) {}
  }

  private final class Passer: Sendable {}

  private class Guest: @unchecked Sendable {}
  private final class Resident: Guest, LifetimeOwner, @unchecked Sendable {
    let lifetime = Lifetime()
  }

  private struct Visit: MessageCenter.Message {
    typealias Subject = Guest
  }

  @Test("K9 The end of a subject cancels the only call, also one that began at the registration")
  func onlyCall() async {
    let (gate, states) = (AsyncGate(), Inbox<Bool>())
    let (slot, subject) = (Slot<MessageCenter>(), Slot<Resident>())
    subject.set(Resident())
    let center = MessageCenter()
    let events = center.events.observe { event in
      if event.kind == .registered { slot.value?.post(Visit(), about: subject.value!) }
    }
    slot.set(center)
    let token = center.messages(of: Visit.self, about: subject.value!).observeAsync(
      options: .once
    ) { _ in
      await gate.pass()
      states.record(Task.isCancelled)
    }
    await gate.waitUntilReached()
    subject.set(nil)
    gate.open()
    #expect(await states.values(count: 1) == [true])
    slot.set(nil)
    withExtendedLifetime((token, events)) {}
  }

  @Test("K8 Owners and subjects of several classes each end as their class says")
  func severalClasses() {
    let passer = Passer()
    let guest = Guest()
    var tokens: [ObservationToken] = []
    func observe(_ owner: some AnyObject & Sendable, _ subject: Guest) {
      tokens.append(center.messages(of: Visit.self, about: subject).observe { _ in })
      center.observe(Tick.self, owner: owner) { _, _ in }
    }
    for _ in 0..<3 {
      let before = center.observerCount
      observe(passer, guest)
      #expect(center.observerCount == before + 2)
      observe(Resident(), Resident())
      observe(Resident(), Resident())
      #expect(center.observerCount == before + 2)
    }
    withExtendedLifetime((passer, guest, tokens)) {}
  }
}
