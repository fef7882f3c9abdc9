import Campanile
import CampanileKVO
import Observation
import Testing

/// A tree of objects, with what is computed along it.
final class Node: Observable {
  @Observed var name: String?
  @Observed var value = 0
  @Observed var isMarked = false
  @Observed var child: Node?
  @Observed var other: Node?

  init(_ name: String? = nil, value: Int = 0, child: Node? = nil) {
    self.name = name
    self.value = value
    self.child = child
  }

  /// Two ways to the same node.
  var selected: Node? { child?.child }
  var picked: Node? { child?.child }
  var score: Int { value * 10 }
  var total: Int { value + (other?.value ?? 0) }
  var selection: String { "\(selected?.score ?? -1) \(picked?.isMarked == true)" }
}

@Suite("Trees of objects", .ownThread)
struct TreeTests {
  let log = Log()
  let root = Node("root")

  private func follow<Value>(
    _ keyPath: KeyPath<Node, Value>, _ options: KVOChange<Value>.Options = [], of node: Node? = nil
  ) {
    log.kvo.observe(node ?? root, keyPath, options: options, policy: .append) { log, _, change in
      let old = change.old.map { "\($0) -> " } ?? ""
      log.lines.append("\(old)\(change.new)")
    }
  }

  @Test("A path that ends before its last object counts each replacement once")
  func replacements() {
    follow(\.child?.child?.value)
    let (one, two) = (Node(), Node())
    root.child = one
    root.child = nil
    root.child = two
    root.child = nil
    root.child = one
    one.child = two
    root.child = nil
    #expect(log.lines.count == 7)
  }

  @Test("A computed object on the way is followed when it becomes another one")
  func computedOnTheWay() {
    root.child = Node(child: Node(value: 1))
    follow(\.selected?.value, .old)
    root.child?.child = Node(value: 2)
    root.child?.child?.value = 3
    root.child = nil
    #expect(
      log.lines == [
        "Optional(1) -> Optional(2)", "Optional(2) -> Optional(3)", "Optional(3) -> nil",
      ])
  }

  @Test("Two computed ways to an object that comes and goes are followed once in the end")
  func comingAndGoing() {
    let leaf = Node(value: 1)
    root.child = Node()
    follow(\.selection)
    for _ in 0..<25 {
      root.child?.child = nil
      root.child?.child = leaf
    }
    #expect(log.lines.count == 50)
    leaf.value = 2
    leaf.isMarked = true
    #expect(log.lines.dropFirst(50) == ["20 false", "20 true"])
  }

  @Test("Two objects that compute from a third each have their own old and new value")
  func sharedDependency() {
    let shared = Node(value: 0)
    let (one, two) = (Node(value: 1), Node(value: 2))
    (one.other, two.other) = (shared, shared)
    follow(\.total, .old, of: one)
    follow(\.total, .old, of: two)
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
    follow(\.value)
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
