import Campanile
import CampanileKVO
import Synchronization

/// An array that any thread may edit.
final class SharedList: SharedObservable {
  private let registrar = KVORegistrar()
  private let state: Locked<[Int]>
  var items: [Int] {
    get {
      registrar.access(self, keyPath: \.items)
      return state.withLock { $0 }
    }
    set {
      registrar.withMutation(of: self, keyPath: \.items) { state.withLock { $0 = newValue } }
    }
  }
  var all: [Int] { items }

  init(_ items: [Int] = []) { state = Locked(items) }
}

/// An object that any thread may replace.
final class SharedBox<Content: AnyObject & Sendable>: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex<Content?>(nil)
  var content: Content? {
    get { registrar.get(self, \.content, in: state) }
    set { registrar.set(self, \.content, in: state, to: newValue) }
  }
}

/// What an observer on any thread rebuilds.
final class SharedReplica: Sendable {
  private let replica: Locked<Replica<Int>>
  init(_ elements: [Int] = []) { replica = Locked(Replica(elements)) }
  func apply(_ change: KVOChange<[Int]>) { replica.withLock { $0.apply(change) } }
  var elements: [Int] { replica.withLock { $0.elements } }
  var faults: [String] { replica.withLock { $0.faults } }
  var editCount: Int { replica.withLock { $0.editCount } }
}
