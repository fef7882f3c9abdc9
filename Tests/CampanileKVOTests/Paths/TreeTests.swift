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
  @Observed var named: [String: Node] = [:]

  init(_ name: String? = nil, value: Int = 0, child: Node? = nil) {
    self.name = name
    self.value = value
    self.child = child
  }

  var title: String { "!\(name ?? "")!" }
  var longTitle: String { "-\(title)-" }
  /// Two ways to the same node.
  var selected: Node? { child?.child }
  var picked: Node? { child?.child }
  var score: Int { value * 10 }
  var total: Int { value + (other?.value ?? 0) }
  var selection: String { "\(selected?.score ?? -1) \(picked?.isMarked == true)" }
  var areBothMarked: Bool { child?.isMarked == true && other?.isMarked == true }
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

  // MARK: Replacing what is on the way

  @Test("A leaf that was not there is nil before, and an equal leaf of another object is a change")
  func emptyLeaf() {
    var olds: [String??] = []
    let token = root.observe(\.child?.name, options: .old) { _, change in olds.append(change.old) }
    let first = Node("Hello")
    root.child = first
    root.child = Node("Hello")
    first.name = "unheard"
    #expect(olds == [.some(nil), .some("Hello")])
    withExtendedLifetime(token) {}
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

  @Test("Tail and head are replaced one after the other")
  func tailAndHead() {
    root.child = Node(child: Node(child: Node(value: 1)))
    follow(\.child?.child?.child?.value)
    root.child?.child = nil
    root.child = nil
    #expect(log.lines == ["nil", "nil"])
  }

  @Test("A path of four steps is followed whether its objects come before or after")
  func fourSteps() {
    let leaf = Node(value: 1)
    let middle = Node()
    middle.named = ["leaf": leaf]
    let early = Node()
    early.child = middle
    follow(\.child?.named["leaf"]?.value, of: early)
    follow(\.child?.named["leaf"]?.value)
    root.child = middle
    root.child = middle
    early.child = middle
    #expect(log.lines.count == 3)
    leaf.value = 2
    #expect(log.lines.count == 5)
    middle.named["other"] = Node()
    #expect(log.lines.count == 7)
    middle.named["leaf"] = nil
    leaf.value = 3
    #expect(log.lines.suffix(2) == ["nil", "nil"])
    #expect(log.lines.count == 9)
  }

  @Test("Initial calls are made for several leaves of one object")
  func initialLeaves() {
    root.child = Node()
    follow(\.child?.name, .initial)
    follow(\.child?.value, .initial)
    follow(\.child?.title, .initial)
    #expect(log.lines == ["nil", "Optional(0)", "Optional(\"!!\")"])
  }

  @Test("An object and its leaf, observed together, each have their own values")
  func objectAndLeaf() {
    let (before, after) = (Node("before"), Node("after"))
    root.child = before
    var objects: [ObjectIdentifier?] = []
    let token = root.observe(\.child, options: .old) { _, change in
      objects += [change.old.flatMap { $0 }, change.new].map { $0.map { ObjectIdentifier($0) } }
    }
    follow(\.child?.name, .old)
    root.child = after
    #expect(objects == [ObjectIdentifier(before), ObjectIdentifier(after)])
    #expect(log.lines == ["Optional(\"before\") -> Optional(\"after\")"])
    withExtendedLifetime(token) {}
  }

  @Test("Everything observed at once: each is told what concerns it")
  func everything() {
    follow(\.name)
    follow(\.value)
    follow(\.title)
    follow(\.child?.name)
    follow(\.child?.value)
    root.name = "a"
    root.value = 1
    root.child = Node("b")
    #expect(log.lines.count == 5)
  }

  @Test("A path through an array of objects is followed to the one at its place")
  func throughArray() {
    final class Shelf: Observable { @Observed var nodes: [Node] = [] }
    let shelf = Shelf()
    let (one, two) = (Node(value: 1), Node(value: 2))
    shelf.nodes = [one, two]
    var values: [Int] = []
    let token = shelf.observe(\.nodes[1].value) { _, change in values.append(change.new) }
    one.value = 10
    two.value = 20
    shelf.nodes.swapAt(0, 1)
    two.value = 30
    one.value = 40
    #expect(values == [20, 10, 40])
    withExtendedLifetime(token) {}
  }

  // MARK: Computed on the way

  @Test("What is computed at the end of a path is told when it is made, and not after unobserving")
  func computedAtTheEnd() {
    follow(\.child?.title.count)
    let child = Node("Hello")
    root.child = child
    #expect(log.lines == ["Optional(7)"])
    child.name = "Hi"
    #expect(log.lines.last == "Optional(4)")
    log.kvo.unobserve(root, \.child?.title.count)
    child.name = "unheard"
    #expect(log.lines.count == 2)
  }

  @Test("What is computed from something computed is told once")
  func computedTwice() {
    follow(\.longTitle)
    root.name = "KVO"
    root.name = "$"
    #expect(log.lines == ["-!KVO!-", "-!$!-"])
  }

  @Test("What is computed from two objects is told for each of them")
  func twoObjects() {
    follow(\.areBothMarked)
    let (child, other) = (Node(), Node())
    root.child = child
    child.isMarked = true
    root.other = other
    other.isMarked = true
    #expect(log.lines == ["false", "false", "false", "true"])
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

  @Test("Two computed ways to one object are both followed, and a change of it is told once")
  func aliases() {
    let leaf = Node(value: 1)
    root.child = Node()
    follow(\.selection)
    root.child?.child = leaf
    log.lines = []
    leaf.value = 2
    leaf.isMarked = true
    #expect(log.lines == ["20 false", "20 true"])
  }

  @Test("A branch that comes and goes many times is followed once in the end")
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
    #expect(log.lines.count == 51)
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

  @Test("A dependency that the getter did not reach is followed when it does")
  func shortCircuit() {
    final class Gate: Observable {
      @Observed var isOpen = false
      @Observed var guest: Node?
      var name: String? { isOpen ? guest?.name : nil }
    }
    let gate = Gate()
    let guest = Node("a")
    gate.guest = guest
    var names: [String?] = []
    let token = gate.observe(\.name) { _, change in names.append(change.new) }
    guest.name = "b"
    #expect(names.isEmpty)
    gate.isOpen = true
    guest.name = "c"
    gate.isOpen = false
    guest.name = "d"
    #expect(names == ["b", "c", nil])
    withExtendedLifetime(token) {}
  }

  @Test("An override that begins to read something else is followed there")
  func overriddenGetter() {
    class Base: Observable {
      @Observed var stored = "a"
      var name: String { stored }
    }
    class Plain: Observable { @Observed var name = "a" }
    final class Loud: Plain {
      @Observed var extra = "x"
      override var name: String {
        get { super.name == "loud" ? super.name + extra : super.name }
        set { super.name = newValue }
      }
    }
    let loud = Loud()
    var names: [String] = []
    let token = (loud as Plain).observe(\.name) { _, change in names.append(change.new) }
    loud.name = "loud"
    loud.extra = "y"
    #expect(names == ["loudx", "loudy"])
    withExtendedLifetime(token) {}
  }

  @Test("A setter that announces another property by hand tells those who follow that one")
  func announcedBesides() {
    final class Owner: Observable {
      let registrar = KVORegistrar()
      @Observed var weight = 0
      @Observed var part: Node?
      func setWeight(_ weight: Int) {
        if part != nil { registrar.willChange(self, keyPath: \.hasPart) }
        self.weight = weight
        if part != nil { registrar.didChange(self, keyPath: \.hasPart) }
      }
      var hasPart: Bool {
        registrar.access(self, keyPath: \.hasPart)
        return part != nil
      }
    }
    let owner = Owner()
    var count = 0
    let token = owner.observe(\.hasPart) { _, _ in count += 1 }
    owner.setWeight(1)
    #expect(count == 0)
    owner.part = Node()
    owner.setWeight(2)
    #expect(count == 2)
    owner.part = nil
    owner.setWeight(3)
    #expect(count == 3)
    withExtendedLifetime(token) {}
  }

  // MARK: Values

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

  @Test("A struct is told as a whole, and its parts along their paths")
  func structs() {
    struct Size: Equatable { var width = 0, height = 0 }
    final class Window: Observable { @Observed var size = Size() }
    let window = Window()
    var sizes: [Size] = []
    var heights: [Int] = []
    let tokens = [
      window.observe(\.size) { _, change in sizes.append(change.new) },
      window.observe(\.size.height, options: .distinct) { _, change in heights.append(change.new) },
    ]
    window.size.width = 1
    window.size.height = 2
    window.size = Size(width: 3, height: 2)
    #expect(sizes.map(\.width) == [1, 1, 3])
    #expect(heights == [2])
    withExtendedLifetime(tokens) {}
  }

  // MARK: Who comes and goes meanwhile

  @Test("An observer that is ended and released by an earlier one is not called")
  func endedByAnother() {
    let live = LiveCount()
    var victim: Log? = Log()
    let remover = Log()
    remover.kvo.observe(root, \.value) { [root] remover, _, change in
      remover.lines.append("\(change.new)")
      victim?.kvo.unobserve(root, \.value)
      victim = nil
    }
    let probe = Tracked(live)
    victim?.kvo.observe(root, \.value) { _, _, _ in
      probe.touch()
      remover.lines.append("victim")
    }
    root.value = 1
    root.value = 2
    #expect(remover.lines == ["1", "2"])
    #expect(victim == nil)
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

  @Test("K9 The death of a wrapped object ends a nested path at once, though its end lives on")
  func wrappedRootDies() {
    let child = Node("a")
    var root: Node? = Node(child: child)
    let live = LiveCount()
    let token: ObservationToken
    do {
      let probe = Tracked(live)
      token = root!.observe(\.child?.name) { _, _ in probe.touch() }
    }
    #expect(live.current == 1)
    root = nil
    #expect(!token.isActive)
    #expect(live.current == 0)
    child.name = "b"
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

  @Test("In a transaction the names of what changed on the way are told too")
  func namesOnTheWay() {
    let child = Node("a")
    root.child = child
    var paths: [[KVOPath]] = []
    let token = root.observe(\.child?.total) { _, change in paths.append(change.changedPaths) }
    KVOTransaction.perform {
      child.value = 1
      child.other = Node(value: 2)
      child.value = 3
    }
    #expect(paths == [[KVOPath(\Node.value), KVOPath(\Node.other)]])
    withExtendedLifetime(token) {}
  }
}
