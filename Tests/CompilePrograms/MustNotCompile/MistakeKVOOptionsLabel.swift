// expect-error: 15:9: no exact matches in call to instance method 'observe'
// expect-error: 15:33: reference to member 'old' cannot be resolved without a contextual type
// Options have a label, as in Foundation.
import CampanileKVO
import Observation

final class Node: Observable {
  @Observed var value = 0
}

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node) {
    kvo.observe(node, \.value, .old) { panel, node, change in print(change.new) }
  }
}
