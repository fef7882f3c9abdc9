import Testing

@testable import Campanile

@Suite("Multicast", .ownThread)
struct MulticastTests {
  private let heard = Recorder<String>()

  @Test("G7 Members are called inline, in the order they joined")
  func order() {
    let multicast = Multicast<any Listener>()
    let members = (0..<3).map { Member("\($0)", heard) }
    for member in members { multicast.add(member) }
    multicast.call { $0.finished(1) }
    #expect(heard.values == ["0 finished 1", "1 finished 1", "2 finished 1"])
    #expect(multicast.count == 3)
    withExtendedLifetime(members) {}
  }

  @Test("A call ends with the first error that its closure throws, and throws it on")
  func throwing() throws {
    let multicast = Multicast<any Listener>()
    let members = (0..<3).map { Member("\($0)", heard) }
    for member in members { multicast.add(member) }
    var count = 0
    let error = #expect(throws: TestFailure.self) {
      try multicast.call { member in
        member.finished(1)
        count += 1
        if count == 2 { throw TestFailure() }
      }
    }
    #expect(error == TestFailure())
    #expect(heard.values == ["0 finished 1", "1 finished 1"])
    // Nobody has left by that, and the next call reaches everybody.
    #expect(multicast.count == 3)
    try multicast.call { member in
      if count == 0 { throw TestFailure() }
      member.began()
    }
    #expect(heard.count == 5)
    withExtendedLifetime(members) {}
  }

  @Test("Members are not kept alive, and leave when they die")
  func weakly() {
    let multicast = Multicast<any Listener>()
    let kept = Member("kept", heard)
    weak var weakMember: Member?
    do {
      let member = Member("gone", heard)
      weakMember = member
      multicast.add(member)
      multicast.add(kept)
    }
    #expect(weakMember == nil)
    multicast.call { $0.began() }
    #expect(heard.values == ["kept began"])
    #expect(multicast.count == 1)
    withExtendedLifetime(kept) {}
  }

  @Test("A member that is added twice is two, and remove ends both")
  func twice() {
    let multicast = Multicast<any Listener>()
    let (member, other) = (Member("a", heard), Member("b", heard))
    multicast.add(member)
    multicast.add(other)
    multicast.add(member)
    multicast.call { $0.began() }
    multicast.remove(member)
    multicast.remove(member)
    multicast.call { $0.began() }
    withExtendedLifetime((member, other)) {}
    #expect(heard.values == ["a began", "b began", "a began", "b began"])
  }

  @Test("A membership can be paused and ended by its registration")
  func registration() {
    let multicast = Multicast<any Listener>()
    let member = Member("a", heard)
    let registration = multicast.add(member)
    registration.pause()
    multicast.call { $0.finished(1) }
    registration.resume()
    multicast.call { $0.finished(2) }
    registration.cancel()
    multicast.call { $0.finished(3) }
    withExtendedLifetime(member) {}
    #expect(heard.values == ["a finished 2"])
    #expect(multicast.count == 0)
  }

  @Test("The memberships end with the multicast")
  func end() {
    let member = Member("a", heard)
    let registration = Multicast<any Listener>().add(member)
    #expect(!registration.isActive)
    #expect(registration.cancel() == .alreadyEnded)
    withExtendedLifetime(member) {}
  }

  @Test("Members may add, remove and call during a call")
  func changes() {
    let multicast = Multicast<any Listener>()
    let (late, victim) = (Member("late", heard), Member("victim", heard))
    let first = Member("first", heard) { [heard] in
      multicast.add(late)
      multicast.remove(victim)
      multicast.call { _ in heard.record("nested") }
    }
    multicast.add(first)
    multicast.add(victim)
    multicast.call { $0.began() }
    #expect(heard.values == ["first began", "nested", "nested"])
    #expect(multicast.count == 2)
    withExtendedLifetime((first, late, victim)) {}
  }

  @Test("A member can release the multicast that calls it")
  func releasesMulticast() {
    let box = Slot<Multicast<any Listener>>()
    box.set(Multicast())
    let members = [
      Member("first", heard) { box.set(nil) },
      Member("second", heard),
    ]
    for member in members { box.value?.add(member) }
    box.value?.call { $0.began() }
    withExtendedLifetime(members) {}
    #expect(heard.values.first == "first began")
    #expect(box.value == nil)
  }

  @Test("Members isolated to the main actor are called there") @MainActor
  func mainActor() {
    let multicast = Multicast<any ScreenListener>()
    let screens = [IsolatedScreen(), IsolatedScreen()]
    for screen in screens { multicast.add(screen) }
    multicast.call { $0.show("Aria") }
    #expect(screens.map(\.title) == ["Aria", "Aria"])
  }

  @Test("Members and values that are not Sendable stay in the caller's isolation")
  func notSendable() {
    let multicast = Multicast<any PlainListener>()
    let listener = PlainMember()
    multicast.add(listener)
    let note = PlainNote()
    multicast.call { $0.take(note) }
    #expect(listener.notes.count == 1)
    #expect(listener.notes.first === note)
  }

  @Test(
    "A multicast of Sendable members is Sendable, and safe from any thread", arguments: [1, 2, 8])
  func threads(width: Int) {
    let multicast = Multicast<any Listener>()
    onThreads(width) { [heard] thread in
      for _ in 0..<100 {
        let member = Member("\(thread)", heard)
        multicast.add(member)
        multicast.call { _ in }
        multicast.remove(member)
      }
    }
    #expect(multicast.count == 0)
  }

  @Test("K8 A member with a lifetime leaves when it dies")
  func lifetime() {
    let multicast = Multicast<any Listener>()
    func add() -> Registration {
      let member = Leaving()
      let registration = multicast.add(member)
      #expect(registration.isActive)
      withExtendedLifetime(member) {}
      return registration
    }
    #expect(!add().isActive)
  }

  @Test("K16 A member with a lifetime keeps nothing of a membership that has ended")
  func endedMembership() {
    let member = Leaving()
    weak var list: ObserverList?
    func join() {
      let multicast = Multicast<any Listener>()
      list = multicast.add(member).list
      #expect(list != nil)
      multicast.remove(member)
    }
    join()
    #expect(list == nil)
    withExtendedLifetime(member) {}
  }

  @Test("The memberships are listed")
  func registrations() {
    let multicast = Multicast<any Listener>()
    let member = Member("a", heard)
    let line: UInt = #line + 1
    let registration = multicast.add(member)
    let descriptions = multicast.registrations
    #expect(descriptions.map(\.line) == [Int(line)])
    #expect(descriptions.map(\.registration) == [registration])
    #expect(descriptions.first?.ownerType == Member.self)
    #expect(descriptions.first?.file == #fileID)
    withExtendedLifetime(member) {}
  }

  @Test("The first answer is returned, and the members after that are not asked")
  func first() throws {
    let multicast = Multicast<any Listener>()
    let members = (0..<4).map { Member("\($0)", heard) }
    for member in members { multicast.add(member) }
    let answer = multicast.first { member -> Int? in
      member.began()
      return heard.count == 3 ? heard.count : nil
    }
    #expect(answer == 3)
    #expect(heard.count == 3)
    #expect(multicast.first { _ in nil as Int? } == nil)
    #expect(throws: TestFailure.self) { try multicast.first { _ -> Int? in throw TestFailure() } }
    withExtendedLifetime(members) {}
  }

  @Test("All are asked until one does not agree")
  func allSatisfy() throws {
    let multicast = Multicast<any Listener>()
    let members = (0..<4).map { Member("\($0)", heard) }
    for member in members { multicast.add(member) }
    let isAgreed = multicast.allSatisfy { member in
      member.began()
      return heard.count < 3
    }
    #expect(!isAgreed)
    #expect(heard.count == 3)
    #expect(multicast.allSatisfy { _ in true })
    #expect(Multicast<any Listener>().allSatisfy { _ in false })
    #expect(throws: TestFailure.self) { try multicast.allSatisfy { _ in throw TestFailure() } }
    withExtendedLifetime(members) {}
  }

  @Test("A member that is no class instance is a precondition failure")
  func valueMember() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        struct Value: Loose { func call() {} }
        Multicast<any Loose>().add(Value())
      },
      says: "which is no class")
  }
}

private protocol Listener: AnyObject, Sendable {
  func began()
  func finished(_ number: Int)
}

private final class Member: Listener {
  private let name: String
  private let heard: Recorder<String>
  private let action: @Sendable () -> Void

  init(_ name: String, _ heard: Recorder<String>, _ action: @escaping @Sendable () -> Void = {}) {
    self.name = name
    self.heard = heard
    self.action = action
  }

  func began() {
    heard.record("\(name) began")
    action()
  }

  func finished(_ number: Int) { heard.record("\(name) finished \(number)") }
}

@MainActor private protocol ScreenListener: AnyObject {
  func show(_ title: String)
}

@MainActor private final class IsolatedScreen: ScreenListener {
  var title = ""
  func show(_ title: String) { self.title = title }
}

private final class PlainNote {}

private protocol PlainListener: AnyObject {
  func take(_ note: PlainNote)
}

private final class PlainMember: PlainListener {
  var notes: [PlainNote] = []
  func take(_ note: PlainNote) { notes.append(note) }
}

private protocol Loose {
  func call()
}

private final class Leaving: Listener, LifetimeOwner {
  let lifetime = Lifetime()
  func began() {}
  func finished(_ number: Int) {}
}
