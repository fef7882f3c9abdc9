import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Edits that other changes overtake", .ownThread)
struct OvertakenEditTests {
  let radio = Radio()

  init() { radio.presets = ["a", "b", "c"] }

  private var presets: KVOArray<Radio, String> { radio.mutableArray(\.presets) }

  /// Follows the presets, and says what is told.
  private func follow(
    _ options: KVOChange<[String]>.Options = [], _ log: Log,
    _ body: ((Radio, KVOChange<[String]>) -> Void)? = nil
  ) -> ObservationToken {
    radio.observe(\.presets, options: options) { radio, change in
      let places = change.indexes.map { "\($0.ranges.map { "\($0)" }.joined(separator: ","))" }
      log.lines.append("\(change.edit) \(places ?? "-") \(change.new.joined())")
      body?(radio, change)
    }
  }

  @Test("What an observer sets to the same array elsewhere is told as a setting")
  func copyInsideCall() {
    let (copy, log) = (Radio(), Log())
    copy.presets = radio.presets
    log.kvo.observe(copy, \.presets) { log, _, change in
      log.lines.append("\(change.edit) \(change.indexes == nil) \(change.new.joined())")
    }
    let token = follow([], log) { _, change in copy.presets = change.new }
    presets.append("d")
    #expect(log.lines == ["insertion 3..<4 abcd", "setting true abcd"])
    withExtendedLifetime(token) {}
  }

  @Test("An edit that a later observer makes meanwhile is one to all")
  func editInsideLaterCall() {
    let (first, second) = (Log(), Log())
    let tokens = [
      follow([], first),
      follow([], second) { radio, change in
        if change.new.count == 4 { radio.mutableArray(\.presets).remove(at: 0) }
      },
    ]
    presets.append("d")
    #expect(first.lines == ["insertion 3..<4 abcd", "removal 0..<1 bcd"])
    #expect(second.lines == first.lines)
    withExtendedLifetime(tokens) {}
  }

  @Test("An edit inside of which the setter changes the array further is told as a setting")
  func changedBySetter() {
    final class Sorted: Observable {
      private let registrar = KVORegistrar()
      private var storage = [1, 3]
      var items: [Int] {
        get {
          registrar.access(self, keyPath: \.items)
          return storage
        }
        set {
          registrar.withMutation(of: self, keyPath: \.items) {
            storage = newValue
            if newValue != newValue.sorted() { self.items = newValue.sorted() }
          }
        }
      }
    }
    let sorted = Sorted()
    var replica = Replica([1, 3])
    let token = sorted.observe(\.items) { _, change in replica.apply(change) }
    let items = sorted.mutableArray(\.items)
    items.append(4)
    #expect(replica.editCount == 1)
    items.append(2)
    #expect(replica.editCount == 1 && replica.elements == [1, 2, 3, 4] && replica.faults.isEmpty)
    withExtendedLifetime(token) {}
  }

  @Test("A change between the reading and the setting of an edit makes it a setting")
  func changedMeanwhile() {
    let log = Log()
    let token = follow([], log)
    presets.removeAll { preset in
      if preset == "b" { radio.presets = ["x", "y"] }
      return preset == "a"
    }
    #expect(log.lines == ["setting - xy", "setting - bc"])
    withExtendedLifetime(token) {}
  }

  @Test(
    "The only edit of a transaction is told as one, and several changes as a setting",
    arguments: [true, false])
  func transactions(isOldAsked: Bool) {
    let log = Log()
    let token = follow(isOldAsked ? .old : [], log)
    KVOTransaction.perform { presets.append("d") }
    KVOTransaction.perform {
      presets.append("e")
      presets.remove(at: 0)
    }
    KVOTransaction.perform {
      presets.remove(at: 0)
      radio.presets = ["x"]
    }
    KVOTransaction.perform {
      radio.presets = ["y"]
      presets.append("z")
    }
    #expect(
      log.lines == ["insertion 3..<4 abcd", "setting - bcde", "setting - x", "setting - yz"])
    withExtendedLifetime(token) {}
  }

  @Test(
    "Who begins to rebuild an array inside its setter has it, whether or not the new one is stored",
    arguments: [true, false])
  func observerInSetter(isStored: Bool) {
    final class Store: Observable {
      private let registrar = KVORegistrar()
      private var stored = [1]
      var meanwhile: (_ isStored: Bool) -> Void = { _ in }
      var items: [Int] {
        get {
          registrar.access(self, keyPath: \.items)
          return stored
        }
        set {
          registrar.withMutation(of: self, keyPath: \.items) {
            meanwhile(false)
            stored = newValue
            meanwhile(true)
          }
        }
      }
    }
    let store = Store()
    var replica = Replica<Int>()
    var token: ObservationToken?
    store.meanwhile = { [unowned store] in
      if token != nil || $0 != isStored { return }
      token = store.observe(\.items, options: .initial) { _, change in replica.apply(change) }
    }
    for number in 2...3 { store.mutableArray(\.items).append(number) }
    #expect(replica.faults.isEmpty && replica.elements == [1, 2, 3])
    withExtendedLifetime(token) {}
  }

  final class Choice: Observable {
    @Observed var first = [0]
    @Observed var second = [9]
    var picked: [Int] { first.count > 1 ? first : second }
  }

  @Test("A computed array that comes to be the edited one, or ceases to be it, has no indexes")
  func computedPick() {
    let choice = Choice()
    var kinds: [Edit] = []
    let token = choice.observe(\.picked) { _, change in kinds.append(change.edit) }
    choice.mutableArray(\.first).append(1)
    choice.mutableArray(\.first).append(2)
    choice.mutableArray(\.first).removeSubrange(1..<3)
    choice.mutableArray(\.second).append(8)
    #expect(kinds == [.setting, .insertion, .setting, .insertion])
    withExtendedLifetime(token) {}
  }

  @Test("A proxy along a longer path, or through a property that forwards, tells what it does")
  func longerPath() {
    final class Front: Observable {
      let inner = Radio()
      var presets: [String] {
        get { inner.presets }
        set { inner.presets = newValue }
      }
    }
    let (outer, front) = (Radio(), Front())
    outer.next = radio
    var told: [String] = []
    let tokens = [
      outer.observe(\.next!.presets) { _, change in told.append("outer \(change.edit)") },
      radio.observe(\.presets) { _, change in told.append("inner \(change.edit)") },
      front.observe(\.presets) { _, change in told.append("front \(change.edit)") },
    ]
    outer.mutableArray(\.next!.presets).append("d")
    #expect(told == ["outer insertion", "inner insertion"])
    front.mutableArray(\.presets).append("a")
    #expect(told.last == "front insertion")
    outer.next!.mutableSet(\.names).insert("a")
    #expect(told.count == 3)
    withExtendedLifetime(tokens) {}
  }
}
