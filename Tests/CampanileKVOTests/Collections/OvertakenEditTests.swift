import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Edits that other changes overtake")
struct OvertakenEditTests {
  let radio = Radio()

  init() { radio.presets = ["a", "b", "c"] }

  private var presets: KVOArray<Radio, String> { radio.mutableArray(\.presets) }

  /// Follows the presets, and says what is told.
  private func follow(
    _ options: KVOChange<[String]>.Options = [], _ log: Log,
    _ body: ((Radio, KVOChange<[String]>) -> Void)? = nil
  ) -> ObservationToken {
    radio.observe(\.presets, options) { radio, change in
      let places = change.indexes.map { "\($0.ranges.map { "\($0)" }.joined(separator: ","))" }
      log.lines.append("\(change.edit) \(places ?? "-") \(change.new.joined())")
      body?(radio, change)
    }
  }

  // Broken by: AnnouncedEdit.isWhole, if it always is.
  @Test("An edit that an earlier observer has overtaken is told as a setting")
  func byEarlierObserver() {
    let (first, second) = (Log(), Log())
    let tokens = [
      follow([], first) { radio, change in if change.new.count == 4 { radio.presets = [] } },
      follow(.old, second),
    ]
    presets.append("d")
    #expect(first.lines == ["insertion 3..<4 abcd", "setting - "])
    #expect(second.lines == ["setting - ", "setting - "])
    presets.append("e")
    #expect(first.lines.last == "insertion 0..<1 e" && second.lines.last == "insertion 0..<1 e")
    withExtendedLifetime(tokens) {}
  }

  // Broken by: Scope.withObservers, if observers are taken for a part of the edit.
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

  // Broken by: ChangeKeeper.isSettled, if it does not look at the changes that go on.
  @Test(
    "An edit that an earlier observer makes meanwhile is one to it, and a setting to those after it"
  )
  func editInsideCall() {
    let (first, second) = (Log(), Log())
    let tokens = [
      follow([], first) { radio, change in
        if change.new.count == 4 { radio.mutableArray(\.presets).remove(at: 0) }
      },
      follow(.old, second),
    ]
    presets.append("d")
    #expect(first.lines == ["insertion 3..<4 abcd", "removal 0..<1 bcd"])
    #expect(second.lines == ["setting - bcd", "setting - bcd"])
    withExtendedLifetime(tokens) {}
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

  // Broken by: AnnouncedEdit.isWhole, if it always is.
  @Test("An edit that is overtaken in a prior call is told as a setting, before and after")
  func priorOvertaken() {
    let (first, second) = (Log(), Log())
    var hasChanged = false
    let tokens = [
      follow(.prior, first) { radio, change in
        if change.phase == .prior && !hasChanged {
          hasChanged = true
          radio.presets = []
        }
      },
      follow(.prior, second),
    ]
    presets.remove(at: 2)
    // The edit sets what it made of the value that it found.
    #expect(radio.presets == ["a", "b"])
    #expect(first.lines.first == "removal 2..<3 abc" && first.lines.last == "setting - ab")
    #expect(second.lines.suffix(2) == ["setting - ", "setting - ab"])
    #expect(!second.lines.contains { $0.hasPrefix("removal") })
    withExtendedLifetime(tokens) {}
  }

  // Broken by: AnnouncedEdit.isWhole, if it always is.
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

  @Test("What a property's own didSet changes after an edit is told after it")
  func changedByDidSet() {
    final class Sorted: Observable {
      @Observed var items = [1, 3] {
        didSet { if items != items.sorted() { items.sort() } }
      }
    }
    let sorted = Sorted()
    var kinds: [Edit] = []
    var replica = Replica([1, 3])
    let token = sorted.observe(\.items) { _, change in
      kinds.append(change.edit)
      replica.apply(change)
    }
    sorted.mutableArray(\.items).append(2)
    #expect(kinds == [.insertion, .setting])
    #expect(replica.elements == [1, 2, 3] && replica.faults.isEmpty)
    withExtendedLifetime(token) {}
  }

  // Broken by: ReadCollector.isOfKnown, if an edit reads nothing.
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

  @Test("Elements that cannot be compared are placed as well")
  func noEquality() {
    final class Item {}
    final class Box: Observable { @Observed var items: [Item] = [] }
    let box = Box()
    var kinds: [Edit] = []
    let tokens = [
      box.observe(\.items) { box, change in
        if change.new.count == 2 { box.items = [] }
      },
      box.observe(\.items) { _, change in kinds.append(change.edit) },
    ]
    box.mutableArray(\.items).append(Item())
    box.mutableArray(\.items).append(Item())
    #expect(kinds == [.insertion, .setting, .setting])
    withExtendedLifetime(tokens) {}
  }

  // MARK: Transactions

  @Test("The only edit of a transaction is told as one, and several as a setting")
  func transactions() {
    let log = Log()
    let token = follow(.old, log)
    KVOTransaction.perform { presets.append("d") }
    KVOTransaction.perform {
      presets.append("e")
      presets.remove(at: 0)
    }
    KVOTransaction.perform {
      presets.remove(at: 0)
      radio.presets = ["x"]
    }
    #expect(log.lines == ["insertion 3..<4 abcd", "setting - bcde", "setting - x"])
    withExtendedLifetime(token) {}
  }

  // Broken by: AnnouncedEdit.isWhole, if it always is.
  @Test("A transaction's edit that an earlier observer overtakes at its end is told as a setting")
  func transactionOvertaken() {
    let log = Log()
    let tokens = [
      follow([], Log()) { radio, change in
        if change.new.count == 4 { radio.mutableArray(\.presets).insert("z", at: 0) }
      },
      follow([], log),
    ]
    KVOTransaction.perform { presets.append("d") }
    #expect(!log.lines.isEmpty && log.lines.allSatisfy { $0 == "setting - zabcd" })
    withExtendedLifetime(tokens) {}
  }

  // MARK: Observers that come in the middle

  // Broken by: ChangeKeeper.report, if it does not note what has been missed.
  @Test("An observer that comes in the middle of an edit is told the next one as a setting")
  func observerInPriorCall() {
    let log = Log()
    var late: ObservationToken?
    let token = follow(.prior, Log()) { _, change in
      if change.phase == .prior, late == nil { late = follow([], log) }
    }
    presets.append("d")
    presets.append("e")
    presets.append("f")
    #expect(log.lines == ["setting - abcde", "insertion 5..<6 abcdef"])
    withExtendedLifetime((token, late)) {}
  }

  // Broken by: ObservedProperty.end, if it counts an end that has no beginning.
  @Test(
    "Edits are placed again after an observer has begun in the middle of the first change of all")
  func firstObserverInsideChange() {
    final class List: Observable {
      private let registrar = KVORegistrar()
      private var storage = [1]
      var replica = Replica<Int>()
      var token: ObservationToken?
      var items: [Int] {
        get {
          registrar.access(self, keyPath: \.items)
          return storage
        }
        set { registrar.withMutation(of: self, keyPath: \.items) { storage = newValue } }
      }
      func begin() {
        // The object must have been asked about, for its changes to be noted.
        _ = observe(\.other) { _, _ in }
        registrar.withMutation(of: self, keyPath: \.items) {
          token = observe(\.items) { list, change in list.replica.apply(change) }
          storage = [1, 2]
        }
      }
      var other: Int {
        registrar.access(self, keyPath: \.other)
        return 0
      }
    }
    let list = List()
    list.begin()
    list.mutableArray(\.items).append(3)
    #expect(list.replica.editCount == 0 && list.replica.elements == [1, 2, 3])
    list.mutableArray(\.items).append(4)
    #expect(list.replica.editCount == 1 && list.replica.elements == [1, 2, 3, 4])
    #expect(list.replica.faults.isEmpty)
  }

  /// An array that is changed in several steps.
  final class Steps: Observable {
    private let registrar = KVORegistrar()
    var storage = [1]
    var items: [Int] {
      get {
        registrar.access(self, keyPath: \.items)
        return storage
      }
      set { registrar.withMutation(of: self, keyPath: \.items) { storage = newValue } }
    }
    var all: [Int] { items }

    func change(_ steps: () -> Void) {
      registrar.withMutation(of: self, keyPath: \.items, steps)
    }
  }

  // Broken by: Evaluation.follow, if it does not note what goes on; Evaluation.prepare, if
  // it does not look whether it still does.
  @Test(
    "Edits inside a change that had begun before the observation are settings", arguments: [1, 2])
  func editsInsideUnheardChange(count: Int) {
    let steps = Steps()
    // The property is known, so that its changes are counted.
    let first = steps.observe(\.items) { _, _ in }
    var replica = Replica([1])
    var token: ObservationToken?
    steps.change {
      token = steps.observe(\.all) { _, change in replica.apply(change) }
      for number in 1...count {
        // Nothing is told of this until the change ends.
        steps.storage.insert(0, at: 0)
        steps.mutableArray(\.items).append(number + 1)
        #expect(replica.editCount == 0 && replica.elements == steps.storage)
      }
    }
    #expect(replica.faults.isEmpty)
    steps.mutableArray(\.items).append(9)
    #expect(replica.editCount == 1 && replica.elements == steps.storage && replica.faults.isEmpty)
    withExtendedLifetime((first, token)) {}
  }

  @Test("An observer that comes after an edit, inside its call, is told the next one as an edit")
  func observerInCall() {
    let log = Log()
    var late: ObservationToken?
    let token = follow([], Log()) { _, _ in if late == nil { late = follow([], log) } }
    presets.append("d")
    presets.append("e")
    #expect(log.lines == ["insertion 4..<5 abcde"])
    withExtendedLifetime((token, late)) {}
  }

  @Test("An edit inside the initial call is told as one")
  func insideInitialCall() {
    let log = Log()
    let token = follow(.initial, log) { radio, change in
      if change.phase == .initial { radio.mutableArray(\.presets).append("d") }
    }
    #expect(log.lines == ["setting - abc", "insertion 3..<4 abcd"])
    withExtendedLifetime(token) {}
  }

  // MARK: Other key paths

  final class Choice: Observable {
    @Observed var first = [0]
    @Observed var second = [9]
    var picked: [Int] { first.count > 1 ? first : second }
  }

  // Broken by: CollectionEdit.begins, if it always does.
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

  // Broken by: ChangeKeeper.giveOut, if it does not count what is told.
  @Test("An edit along a path of which an object is replaced meanwhile is told as a setting")
  func replacedMeanwhile() {
    let outer = Radio()
    outer.next = radio
    var replica = Replica(radio.presets)
    let other = Radio()
    let tokens = [
      follow([], Log()) { _, change in
        other.presets = change.new
        outer.next = other
      },
      outer.observe(\.next!.presets) { _, change in replica.apply(change) },
    ]
    presets.append("d")
    #expect(replica.elements == ["a", "b", "c", "d"] && replica.faults.isEmpty)
    #expect(replica.editCount == 0)
    other.mutableArray(\.presets).remove(at: 0)
    #expect(replica.editCount == 1 && replica.faults.isEmpty)
    withExtendedLifetime(tokens) {}
  }

  // Broken by: CollectionEdit.claim, if it is claimed by properties of the object alone.
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

  // MARK: Sets

  @Test("A set's edit that an earlier observer has overtaken is told as a setting")
  func sets() {
    var lines: [String] = []
    let tokens = [
      radio.observe(\.names) { radio, change in
        if change.new.count == 2 { radio.names = ["x"] }
      },
      radio.observe(\.names, .old) { _, change in
        lines.append("\(change.edit) \(change.new.sorted().joined())")
      },
    ]
    radio.mutableSet(\.names).insert("a")
    radio.mutableSet(\.names).insert("b")
    #expect(lines == ["insertion a", "setting x", "setting x"])
    withExtendedLifetime(tokens) {}
  }
}
