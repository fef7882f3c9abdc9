// expect-error: 15:9: instance method 'observe(_:_:options:policy:on:file:line:_:)' requires that 'Node' conform to 'SharedObservable'
// An object that stays in one isolation is observed elsewhere by its changes.
import Campanile
import CampanileKVO
import Observation

@MainActor final class Node: Observable {
  @Observed var value = 0
}

@MainActor final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node) {
    kvo.observe(node, \.value, on: .main) { panel, node, change in print(change.new) }
  }
}
