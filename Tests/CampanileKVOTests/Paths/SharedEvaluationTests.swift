import Campanile
import CampanileKVO
import Observation
import TestSupport
import Testing

@Suite("One evaluation for all observers of a key path", .ownThread)
struct SharedEvaluationTests {
  final class Sums: Observable {
    @Observed var first = 0
    @Observed var second = 0
    @Observed var child: Sums?
    private(set) var reads = 0
    var sum: Int {
      reads += 1
      return first + second
    }
  }

  final class Owner {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
  }

  let sums = Sums()
  let owner = Owner()

  private func note(_ name: String) -> (Owner, Sums, KVOChange<Int>) -> Void {
    { owner, _, change in owner.lines.append("\(name) \(change.new)") }
  }

  @Test(
    "A change reads the key path once, for all observers",
    arguments: [1, 10])
  func reads(count: Int) {
    for _ in 0..<count {
      owner.kvo.observe(sums, \.sum, policy: .append) { owner, _, change in
        owner.lines.append("\(change.new)")
      }
    }
    var before = sums.reads
    sums.first = 1
    #expect(sums.reads - before == 1)
    #expect(owner.lines.count == count)

    let token = sums.observe(\.sum, options: .old) { _, _ in }
    before = sums.reads
    sums.first = 2
    #expect(sums.reads - before == 1)
    token.cancel()
    before = sums.reads
    sums.first = 3
    #expect(sums.reads - before == 1)
    owner.kvo.unobserveAll()
    before = sums.reads
    sums.first = 4
    #expect(sums.reads == before)
  }

  @Test("K5 Observers of several paths of one property are called path by path")
  func order() {
    owner.kvo.observe(sums, \.sum, options: [], policy: .append, note("sum 1"))
    owner.kvo.observe(sums, \.first, options: [], policy: .append, note("first 1"))
    owner.kvo.observe(sums, \.sum, options: [], policy: .append, note("sum 2"))
    owner.kvo.observe(sums, of: { $0.first }, options: [], note("closure"))
    owner.kvo.observe(sums, \.first, options: [], policy: .append, note("first 2"))
    let removed = owner.kvo.observe(sums, \.sum, options: [], policy: .append, note("removed"))
    owner.kvo.observe(sums, \.sum, options: [], policy: .append, note("sum 3"))
    removed.registration.cancel()
    sums.first = 1
    #expect(
      owner.lines == [
        "sum 1 1", "sum 2 1", "sum 3 1", "first 1 1", "first 2 1", "closure 1",
      ])
  }

  @Test("K5 Paths of several objects are called in the order in which they began to read")
  func orderAcrossObjects() {
    let (parent, other) = (Sums(), Sums())
    parent.child = sums
    other.child = sums
    var lines: [String] = []
    let tokens = [
      parent.observe(\.child?.first) { _, _ in lines.append("parent 1") },
      sums.observe(\.first) { _, _ in lines.append("own 1") },
      other.observe(\.child?.first) { _, _ in lines.append("other") },
      parent.observe(\.child?.first) { _, _ in lines.append("parent 2") },
      sums.observe(\.first) { _, _ in lines.append("own 2") },
    ]
    sums.first = 1
    #expect(lines == ["parent 1", "parent 2", "own 1", "own 2", "other"])
    withExtendedLifetime(tokens) {}
  }

  @Test("K2 An observer of one path that comes in a call for another begins with the newest value")
  func comesInCall() {
    var tokens: [ObservationToken] = []
    var lines: [String] = []
    tokens.append(
      sums.observe(\.first) { sums, _ in
        lines.append("first")
        if tokens.count == 2 {
          tokens.append(
            sums.observe(\.sum, options: .initial) { _, change in
              lines.append("late \(change.phase) \(change.new)")
            })
        }
      })
    tokens.append(sums.observe(\.sum) { _, change in lines.append("sum \(change.new)") })
    sums.first = 1
    #expect(lines == ["first", "sum 1", "late initial 1"])
    sums.first = 2
    #expect(lines.dropFirst(3) == ["first", "sum 2", "late changed 2"])
  }

  @Test("Observers on any thread share a reading too")
  func sharedReads() {
    let gauge = FormsTests.Gauge()
    let tokens = (0..<10).map { _ in gauge.observe(\.level) { _, _ in } }
    let before = gauge.reads.count
    gauge.level = 1
    #expect(gauge.reads.count - before == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("An observer that asks for no old value is told none, whatever others ask")
  func withoutOld() {
    let token = sums.observe(\.first, options: [.old, .prior]) { _, _ in }
    owner.kvo.observe(sums, \.first) { owner, _, change in
      owner.lines.append("\(change.phase) \(change.old ?? -1) \(change.new)")
    }
    sums.first = 1
    #expect(owner.lines == ["changed -1 1"])
    withExtendedLifetime(token) {}
  }

  @Test("An observer that asks for no old value is told none, though the one that asked has gone")
  func withoutOldOfTheGone() {
    var asking: ObservationToken?
    let first = sums.observe(\.first) { _, _ in asking?.cancel() }
    asking = sums.observe(\.sum, options: .old) { _, _ in }
    var olds: [Int?] = []
    let last = sums.observe(\.sum) { _, change in olds.append(change.old) }
    sums.first = 1
    #expect(olds == [nil])
    withExtendedLifetime((first, last)) {}
  }

  @Test("An observer of one call is not called again by a change that it makes, and others are")
  func once() {
    var others: [Int] = []
    let token = sums.observe(\.first, options: .once) { sums, change in
      self.owner.lines.append("\(change.new)")
      sums.first = 7
    }
    let other = sums.observe(\.first, options: .prior) { _, change in
      if change.phase == .changed { others.append(change.new) }
    }
    sums.first = 1
    sums.first = 2
    #expect(owner.lines == ["1"])
    #expect(others == [1, 7, 2])
    withExtendedLifetime((token, other)) {}
  }

  @Test("An edit is a setting for an observer that was paused during the change before")
  func editAfterPause() {
    final class List: Observable { @Observed var items = [1] }
    let list = List()
    var kinds: [KVOChange<[Int]>.Kind] = []
    let token = list.observe(\.items, options: .initial) { _, change in kinds.append(change.kind) }
    var others: [KVOChange<[Int]>.Kind] = []
    let other = list.observe(\.items, options: .initial) { _, change in others.append(change.kind) }
    token.pause()
    list.mutableArray(\.items).append(2)
    token.resume()
    list.mutableArray(\.items).append(3)
    list.mutableArray(\.items).append(4)
    let insertions = (1...3).map { KVOChange<[Int]>.Kind.insertion(at: RangeSet($0..<($0 + 1))) }
    #expect(kinds == [.setting, .setting, insertions[2]])
    #expect(others == [.setting] + insertions)
    withExtendedLifetime((token, other)) {}
  }

  @Test("K1 Threads that observe one key path at once are all told its changes", arguments: [2, 8])
  func observeAtOnce(width: Int) {
    for _ in 0..<50 {
      let toggle = Toggle(isOn: true)
      let tokens = TokenBag()
      let heard = Recorder<Int>()
      onThreads(width) { _ in
        tokens.insert(toggle.observe(\.shown) { _, change in heard.record(change.new) })
        tokens.insert(toggle.observe(\.value) { _, change in heard.record(change.new) })
      }
      toggle.setValue(7)
      #expect(heard.values == Array(repeating: 7, count: width * 2))
    }
  }

  @Test("K1 A change between the reading of a property and the following of it is told")
  func changedBeforeFollowed() {
    let toggle = Toggle(isOn: false)
    let heard = Recorder<Int>()
    let token = toggle.observe(\.shown) { heard.record($1.new) }
    toggle.hasRead.set { [toggle] in
      toggle.hasRead.set(nil)
      onThread { toggle.setValue(5) }()
    }
    toggle.isOn = true
    #expect(heard.values.last == 5)
    withExtendedLifetime(token) {}
  }
}
