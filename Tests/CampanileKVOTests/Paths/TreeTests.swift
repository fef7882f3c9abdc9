import Campanile
import CampanileKVO
import Observation
import Testing

/// A tree of objects, with what is computed along it.
final class Node: Observable {
  @Observed var name: String?
  @Observed var value = 0
  @Observed var child: Node?
  @Observed var other: Node?

  init(_ name: String? = nil, value: Int = 0, child: Node? = nil) {
    self.name = name
    self.value = value
    self.child = child
  }

  var selected: Node? { child?.child }
  var total: Int { value + (other?.value ?? 0) }
}

@Suite("Trees of objects", .ownThread)
struct TreeTests {
  let log = Log()
  let root = Node("root")

  @Test("A computed object on the way is followed when it becomes another one")
  func computedOnTheWay() {
    root.child = Node(child: Node(value: 1))
    log.follow(root, \.selected?.value, .old)
    root.child?.child = Node(value: 2)
    root.child?.child?.value = 3
    root.child = nil
    #expect(
      log.lines == [
        "Optional(1) -> Optional(2)", "Optional(2) -> Optional(3)", "Optional(3) -> nil",
      ])
  }

  @Test("Two objects that compute from a third each have their own old and new value")
  func sharedDependency() {
    let shared = Node(value: 0)
    let (one, two) = (Node(value: 1), Node(value: 2))
    (one.other, two.other) = (shared, shared)
    log.follow(one, \.total, .old)
    log.follow(two, \.total, .old)
    shared.value = 1
    shared.value = 1
    one.value = 2
    #expect(log.lines == ["1 -> 2", "2 -> 3", "2 -> 2", "3 -> 3", "2 -> 3"])
  }

  @Test("An optional that is nil is an old value, and none is none")
  func optionalValues() {
    var changes: [KVOChange<String?>] = []
    root.name = nil
    let token = root.observe(\.name, options: [.initial, .old]) { _, change in
      changes.append(change)
    }
    root.name = nil
    root.name = "foo"
    #expect(changes.map(\.new) == [nil, nil, "foo"])
    #expect(changes[0].old == .none)
    #expect(changes[1].old == .some(nil))
    #expect(changes[2].old == .some(nil))
    withExtendedLifetime(token) {}
  }

  @Test("An observer ended in the prior call of a later one does not hear that change")
  func endedInPrior() {
    let meddler = Log()
    log.follow(root, \.value)
    meddler.kvo.observe(root, \.value, options: .prior) { [log, root] meddler, _, change in
      meddler.lines.append("\(change.phase)")
      if change.phase == .prior { log.kvo.unobserve(root, \.value) }
    }
    root.value = 1
    root.value = 2
    #expect(log.lines.isEmpty)
    #expect(meddler.lines == ["prior", "changed", "prior", "changed"])
  }

  @Test("An observer made in a prior call hears the end of the change")
  func madeInPrior() {
    let meddler = Log()
    meddler.kvo.observe(root, \.value, options: .prior) { meddler, root, change in
      guard change.phase == .prior, meddler.lines.isEmpty else { return }
      meddler.lines.append("made")
      meddler.kvo.observe(root, \.value, policy: .append) { meddler, _, change in
        meddler.lines.append("value \(change.new)")
      }
      meddler.kvo.observe(root, \.name) { meddler, _, change in
        meddler.lines.append("name \(change.new ?? "nil")")
      }
    }
    root.value = 1
    root.name = "a"
    root.value = 2
    #expect(meddler.lines == ["made", "value 1", "name a", "value 2"])
  }

  @Test("K9 The death of an object ends a nested path at once, though its end lives on")
  func rootDies() {
    let (child, track) = (Node("a"), Track("a"))
    var (root, player): (Node?, Player?) = (Node(child: child), Player())
    player?.current = track
    let live = LiveCount()
    let tokens: [ObservationToken]
    do {
      let probe = Tracked(live)
      tokens = [
        root!.observe(\.child?.name) { _, _ in probe.touch() },
        player!.observe(\.current?.title) { _, _ in probe.touch() },
      ]
    }
    #expect(live.current == 1)
    (root, player) = (nil, nil)
    #expect(tokens.allSatisfy { !$0.isActive })
    #expect(live.current == 0)
    (child.name, track.title) = ("b", "b")
  }

  @Test("K9 The death of another object on the way does not end the path")
  func middleDies() {
    final class Link: Observable {
      weak var middle: Node?
      @Observed var leaf = 0
      var sum: Int { leaf + (middle?.value ?? 0) }
    }
    let link = Link()
    var middle: Node? = Node(value: 1)
    link.middle = middle
    var sums: [Int] = []
    let token = link.observe(\.sum) { _, change in sums.append(change.new) }
    middle?.value = 2
    middle = nil
    #expect(token.isActive)
    link.leaf = 5
    #expect(sums == [2, 5])
    withExtendedLifetime(token) {}
  }

  @Test("K9 An object at the address of one that has died on the way is followed")
  func sameAddress() {
    let player = Player()
    var heard: [String] = []
    let token = player.observe(\.follower?.title) { _, change in heard.append(change.new ?? "-") }
    for number in 0..<100 {
      do {
        // It dies unnoticed.
        let track = Track("A")
        player.follower = track
      }
      let track = Track("B")
      player.follower = track
      track.title = "\(number)"
      #expect(heard.last == "\(number)")
    }
    withExtendedLifetime(token) {}
  }
}
