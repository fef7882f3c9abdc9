import Campanile
import CampanileKVO

// Classes that hand their values over. They store them behind the package's lock, which Thread
// Sanitizer understands, and not behind a `Mutex`.

final class Meter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Locked(0)
  /// Called before the value is read.
  let willRead = Slot<@Sendable () -> Void>()

  var count: Int {
    get {
      willRead.value?()
      return registrar.value(of: self, \.count) { read in state.withLock { read($0) } }
    }
    set { change { $0 = newValue } }
  }
  var double: Int { count * 2 }

  func increment() { change { $0 += 1 } }

  private func change(_ body: (inout Int) -> Void) {
    registrar.change(of: self, \.count, under: { change in state.withLock { change(&$0) } }, body)
  }
}

/// An array that any thread may edit.
final class SharedList: SharedObservable {
  private let registrar = KVORegistrar()
  private let state: Locked<[Int]>
  var items: [Int] {
    get { registrar.value(of: self, \.items) { read in state.withLock { read($0) } } }
    set {
      registrar.change(of: self, \.items, under: { change in state.withLock { change(&$0) } }) {
        $0 = newValue
      }
    }
  }
  var all: [Int] { items }

  init(_ items: [Int] = []) { state = Locked(items) }
}

/// An object that any thread may replace.
final class SharedBox<Content: AnyObject & Sendable>: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Locked<Content?>(nil)
  var content: Content? {
    get { registrar.value(of: self, \.content) { read in state.withLock { read($0) } } }
    set {
      registrar.change(of: self, \.content, under: { change in state.withLock { change(&$0) } }) {
        $0 = newValue
      }
    }
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
