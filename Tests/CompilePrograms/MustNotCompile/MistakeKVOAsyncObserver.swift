// expect-error: 14:32: cannot pass function of type '(Panel, Node, KVOChange<Int>) async -> ()' to parameter expecting synchronous function type
// An observer suspends.
import CampanileKVO
import Observation

final class Node: Observable {
  @Observed var value = 0
}

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node) {
    kvo.observe(node, \.value) { panel, node, change in await Task.yield() }
  }
}
