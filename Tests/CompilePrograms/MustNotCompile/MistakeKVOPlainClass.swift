// expect-error: 14:9: instance method 'observe(_:_:options:policy:isolation:file:line:_:)' requires that 'Node' conform to 'Observable'
// The class conforms to none of the two protocols.
import CampanileKVO
import Observation

final class Node {
  var value = 0
}

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func follow(_ node: Node) {
    kvo.observe(node, \.value) { panel, node, change in print(change.new) }
  }
}
