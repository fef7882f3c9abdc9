// expect-error: 14:23: value of type 'Node' has no member 'valeu'
// A property in the key path is misspelt.
import CampanileKVO
import Observation

final class Node: Observable {
  @Observed var value = 0
}

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node) {
    kvo.observe(node, \.valeu) { panel, node, change in print(change.new) }
  }
}
