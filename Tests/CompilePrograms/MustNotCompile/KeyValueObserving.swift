import Campanile
import CampanileKVO
import Dispatch
import Observation
import Synchronization

final class Node: Observable {
  @Observed var value = 0
  @Observed var cover = Cover()
  var doubles: [Int] { [value, value] }
}

final class Cover {}
final class PlainNode { var value = 0 }

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)
  var count: Int { registrar.get(self, \.count, in: state) }
  var name: String { "\(count)" }
}

@MainActor @Observable final class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var cover = Cover()
}

@Observable final class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
}

// MARK: Classes

// A class conforms to both protocols.
final class Both: SharedObservable, Observable {
  private let registrar = KVORegistrar()
  var count: Int {
    // expect-error: ambiguous use of 'access(_:keyPath:)'
    registrar.access(self, keyPath: \.count)
    return 0
  }
}

struct Wrapped {
  // expect-error: '@Observed' is for properties of classes
  @Observed var title = ""
}

final class NotObservable {
  // expect-error: requires that 'NotObservable' conform to 'Observable'
  // expect-error: requires that 'NotObservable' conform to 'Observable'
  // expect-error: requires that 'NotObservable' conform to 'Observable'
  @Observed var title = ""
}

// MARK: Options and values

func options(_ node: Node, _ counter: Counter) {
  // expect-error: 'distinct' is unavailable: Values can be compared only if their type is Equatable
  _ = node.observe(\.cover, options: .distinct) { _, _ in }
  // Another thread may make a change between the prior call and the change that it announces.
  // expect-error: 'prior' is unavailable: Prior calls exist for objects that stay in one isolation
  _ = counter.observe(\.count, options: [.old, .prior]) { _, _ in }
  // A source of changes takes `.initial` where it is made.
  let counts = counter.changes(of: \.count)
  // expect-error: 'initial' is unavailable: Only a state has a value to begin with: CurrentValue, ReadOnlyState; for a key path, pass .initial to changes(of:)
  _ = counts.observe(on: .queue(.main), options: .initial) { print($0.new) }
  // expect-error: result of call to 'observe
  node.observe(\.value) { _, change in print(change.new) }
  // expect-error: ReferenceWritableKeyPath
  node.mutableArray(\.doubles).append(1)
}

@MainActor func values(_ player: Player) {
  // expect-error: 'Cover' does not conform to the 'Sendable' protocol
  _ = player.changes(of: \.cover)
}

// MARK: Isolation

// What a plain object has stays in its isolation: a source of its changes is made on the main actor.
func follow(_ track: Track) {
  // expect-error: call to main actor-isolated instance method 'changes(of:options:file:line:)' in a synchronous nonisolated context
  _ = track.changes(of: \.title)
}

func sum(_ counter: Counter) -> ObservationToken {
  var sum = 0
  // expect-error: captured var 'sum'
  return counter.observe(\.count) { _, change in sum += change.new }
}

final class Store: Sendable, KVOControllerOwner {
  let kvoControllers = KVOControllers()

  func follow(_ counter: Counter) {
    var count = 0
    // expect-error: mutation of captured var
    kvoController.observe(counter, of: { ($0.count, $0.name) }) { _, _, _ in count += 1 }
  }
}

func follow(_ player: Player, _ kvo: KVOController<Store>) {
  // expect-error: main actor-isolated property 'title'
  kvo.observe(player, \.title) { log, player, change in print(change.new) }
}

final class Log: KVOChangeHandler {
  var lines: [String] = []
  lazy var kvo = KVOController(owner: self)

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
    lines.append("\(change.new)")
  }

  // Any thread may change the object, and the owner is not Sendable.
  func follow(_ counter: Counter) {
    // expect-error: type 'Log' does not conform to the 'Sendable' protocol
    kvo.observe(counter, \.count)
    // expect-error: type 'Log' does not conform to the 'Sendable' protocol
    kvo.observe(counter, \.count) { log, _, change in log.lines.append("\(change.new)") }
  }
}

@MainActor final class Screen: @MainActor KVOChangeHandler {
  var title = ""
  lazy var kvo = KVOController(owner: self)

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { title = "\(change.new)" }

  // Any thread may change the counter, and the observer runs there.
  func follow(_ counter: Counter) {
    // expect-error: main actor-isolated conformance
    kvo.observe(counter, \.count)
    kvo.observe(counter, \.count) { screen, _, change in
      // expect-error: main actor-isolated property 'title' can not be mutated
      screen.title = "\(change.new)"
    }
  }

  func follow(_ player: Player, _ queue: DispatchQueue) {
    player.changes(of: \.title).observe(owner: self, on: .queue(queue)) { screen, change in
      // expect-error: main actor-isolated property 'title' can not be mutated
      screen.title = change.new
    }
    // An object that stays in one isolation is observed elsewhere by its changes.
    // expect-error: instance method 'observe(_:_:options:policy:on:file:line:_:)' requires that 'Player' conform to 'SharedObservable'
    kvo.observe(player, \.title, on: .main) { panel, player, change in print(change.new) }
  }
}

// MARK: Observers

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node, _ plain: PlainNode) {
    // An observer suspends.
    // expect-error: cannot pass function of type '(Panel, Node, KVOChange<Int>) async -> ()' to parameter expecting synchronous function type
    kvo.observe(node, \.value) { panel, node, change in await Task.yield() }
    // expect-error: missing argument labels 'of:isolation:file:line::' in call
    // expect-error: contextual closure type '(Node) -> ()' expects 1 argument, but 3 were used in closure body
    // expect-error: cannot infer key path type from context; consider explicitly specifying a root type
    // expect-error: cannot convert key path into a multi-argument function type
    kvo.observe(node, \.valeu) { panel, node, change in print(change.new) }
    // Options have a label, as in Foundation.
    // expect-error: no exact matches in call to instance method 'observe'
    // expect-error: reference to member 'old' cannot be resolved without a contextual type
    kvo.observe(node, \.value, .old) { panel, node, change in print(change.new) }
    // expect-error: instance method 'observe(_:_:options:policy:isolation:file:line:_:)' requires that 'PlainNode' conform to 'Observable'
    kvo.observe(plain, \.value) { panel, node, change in print(change.new) }
    // expect-error: contextual closure type '(Panel, Node, KVOChange<Int>) throws -> Void' expects 3 arguments, but 2 were used in closure body
    kvo.observe(node, \.value) { panel, change in print(change) }
  }
}
