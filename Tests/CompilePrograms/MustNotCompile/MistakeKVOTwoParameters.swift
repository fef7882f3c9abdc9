// expect-error: 14:34: contextual closure type '(Panel, Node, KVOChange<Int>) throws -> Void' expects 3 arguments, but 2 were used in closure body
// An observer of a controller leaves out the object.
import CampanileKVO
import Observation

final class Node: Observable {
  @Observed var value = 0
}

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node) {
    kvo.observe(node, \.value) { panel, change in print(change) }
  }
}
