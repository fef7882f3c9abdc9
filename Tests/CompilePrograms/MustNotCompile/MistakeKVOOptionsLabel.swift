// expect-error: 14:16: extraneous argument label 'options:' in call
// Options have a label, as in Foundation.
import CampanileKVO
import Observation

final class Node: Observable {
  @Observed var value = 0
}

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node) {
    kvo.observe(node, \.value, options: .old) { panel, node, change in print(change.new) }
  }
}
