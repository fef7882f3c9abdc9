// expect-error: 15:9: 'observe(_:_:_:policy:on:_:)' is unavailable: Observe elsewhere by the changes: object.changes(of: keyPath).observe(owner: self, on:)
// A delivery is named where the change is observed directly.
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
