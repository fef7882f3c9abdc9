import Campanile
import CampanileFoundation
import Foundation
import Synchronization
import Testing

@testable import CampanileNotificationCenter

@Suite("Observers of values", .ownThread)
struct ValueTests {
  /// Counts what is asked of the values that share it.
  private final class Meter: Sendable {
    let hashes = Atomic<Int>(0)
    let comparisons = Atomic<Int>(0)

    var counts: [Int] {
      [hashes.load(ordering: .sequentiallyConsistent)]
        + [comparisons.load(ordering: .sequentiallyConsistent)]
    }

    /// What `body` makes of the counts: hashes, then comparisons.
    func during(_ body: () -> Void) -> [Int] {
      let before = counts
      body()
      return zip(counts, before).map { $0 - $1 }
    }
  }

  private struct Counted: Hashable, Sendable {
    var number: Int
    let meter: Meter

    static func == (one: Self, other: Self) -> Bool {
      one.meter.comparisons.add(1, ordering: .sequentiallyConsistent)
      return one.number == other.number
    }

    func hash(into hasher: inout Hasher) {
      meter.hashes.add(1, ordering: .sequentiallyConsistent)
      hasher.combine(number)
    }
  }

  /// Values with one hash.
  private struct Colliding: Hashable, Sendable {
    var number: Int
    func hash(into hasher: inout Hasher) {}
  }

  private let center = CampanileNotificationCenter.NotificationCenter()
  private let heard = Recorder<Int>()

  @Test(
    "A post hashes its value once and compares it once, however many values are observed",
    arguments: [Notification.Name.tick, nil])
  func found(name: Notification.Name?) {
    let meter = Meter()
    let values = (0..<100).map { Counted(number: $0, meter: meter) }
    for value in values { center.add(name, value) { [heard] _ in heard.record(value.number) } }
    #expect(meter.during { center.post(.tick, values[7]) } == [1, 1])
    #expect(heard.values == [7])
    #expect(meter.during { center.post(.tick, Counted(number: 100, meter: meter)) } == [1, 0])
    #expect(meter.during { center.post(.tick) } == [0, 0])
    #expect(meter.during { center.post(.tick, Bell()) } == [0, 0])
    #expect(meter.during { center.post(.tick, "another type") } == [0, 0])
    #expect(heard.values == [7])
  }

  @Test("A post hashes nothing where no value is observed")
  func none() {
    let meter = Meter()
    let value = Counted(number: 1, meter: meter)
    center.add(.tick) { [heard] _ in heard.record(1) }
    let token = center.add(.tick, value) { [heard] _ in heard.record(2) }
    center.removeObserver(token)
    #expect(meter.during { center.post(.tick, value) } == [0, 0])
    #expect(heard.values == [1])
  }

  @Test("K5 observers of a value, of its name and of everything are called in one order")
  func order() {
    for index in 0..<40 {
      center.add(index % 2 == 0 ? .tick : nil, index % 4 < 2 ? 5 : nil) { [heard] _ in
        heard.record(index)
      }
      center.add(.tick, 6) { [heard] _ in heard.record(-1) }
    }
    center.post(.tick, 5)
    #expect(heard.values == Array(0..<40))
  }

  @Test("Values with one hash are told apart, and equal ones are one")
  func collisions() {
    let tokens = (0..<20).map { number in
      center.add(.tick, Colliding(number: number % 10)) { [heard] _ in heard.record(number) }
    }
    center.removeObserver(tokens[3], name: .tick, object: Colliding(number: 4))
    #expect(center.values.count == 10)
    for number in [3, 9] { center.post(.tick, Colliding(number: number)) }
    #expect(heard.values == [3, 13, 9, 19])
  }

  @Test("An observer of what cannot be compared hears nothing, and leaves nothing")
  func incomparable() {
    struct Plain { var number = 1 }
    let lasting = center.add(.tick) { _ in }
    let token = center.add(.tick, Plain()) { [heard] _ in heard.record(1) }
    center.post(.tick, Plain())
    #expect(heard.values.isEmpty)
    #expect(center.registrations.count == 1)
    center.removeObserver(token, name: .tick, object: Plain())
    center.removeObserver(token)
    #expect(center.registrations.count == 1)
    center.removeObserver(lasting)
  }

  @Test("A value is not the instance that it bridges to, and a metatype is not comparable")
  func bridged() {
    let number = NSNumber(value: 5)
    center.add(.tick, 5) { [heard] _ in heard.record(1) }
    center.add(.tick, number) { [heard] _ in heard.record(2) }
    center.add(.tick, Bell.self) { [heard] _ in heard.record(3) }
    center.post(.tick, number)
    #expect(heard.values == [2])
    center.post(.tick, 5)
    #expect(heard.values == [2, 1])
    center.post(.tick, Bell.self)
    #expect(heard.values == [2, 1])
  }

  /// Does something with the center whenever it is hashed or compared.
  private struct Busy: Hashable, Sendable {
    let work: @Sendable () -> Void
    static func == (one: Self, other: Self) -> Bool {
      one.work()
      return true
    }
    func hash(into hasher: inout Hasher) {
      work()
      hasher.combine(1)
    }
  }

  @Test(
    "K7 what hashes and compares a value may use the center", .timeLimit(.long))
  func reentrant() {
    let value = Busy { [center, heard] in
      let token = center.add(.tock, 7) { _ in heard.record(1) }
      center.post(.tock, 7)
      center.removeObserver(token)
    }
    let tokens = (0..<3).map { _ in center.add(.tick, value) { [heard] _ in heard.record(2) } }
    center.post(.tick, value)
    #expect(heard.values.suffix(3) == [2, 2, 2])
    for token in tokens { center.removeObserver(token, name: .tick, object: value) }
    #expect(center.registrations.isEmpty)
    #expect(center.values.count == 0)
  }

  @Test("K1 threads that observe equal values hear each other's posts", arguments: [1, 2, 8])
  func threads(width: Int) {
    let missed = Recorder<Int>()
    onThreads(width) { [center] thread in
      for number in 0..<200 {
        let own = Recorder<Int>()
        let token = center.add(.tick, Colliding(number: number % 3)) { own.record($0.number) }
        center.post(
          name: .tick, object: Colliding(number: number % 3), userInfo: ["number": thread])
        if !own.values.contains(thread) { missed.record(number) }
        center.removeObserver(token)
      }
    }
    #expect(missed.values.isEmpty)
    #expect(center.values.count == 0)
  }

  @Test("K7 K16 a value is released under no lock, once nobody observes it")
  func released() {
    let released = Recorder<Int>()
    struct Laden: Hashable, Sendable {
      let cargo: OnRelease
      static func == (one: Self, other: Self) -> Bool { one.cargo === other.cargo }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(cargo)) }
    }
    func observe() -> any NSObjectProtocol {
      let cargo = OnRelease { [center] in
        center.removeObserver(center.add(.tock, 7) { _ in })
        released.record(1)
      }
      return center.add(.tick, Laden(cargo: cargo)) { _ in }
    }
    do {
      let token = observe()
      #expect(released.values.isEmpty)
      center.removeObserver(token)
    }
    #expect(released.values == [1])
    #expect(center.values.count == 0)
  }
}
