// expect-error: 17:16: missing argument labels 'of:isolation:file:line::' in call
// expect-error: 17:34: contextual closure type '(Node) -> ()' expects 1 argument, but 3 were used in closure body
// expect-error: 17:23: cannot infer key path type from context; consider explicitly specifying a root type
// expect-error: 17:23: cannot convert key path into a multi-argument function type
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
