import Campanile
import CampanileKVO

/// Leads to its value while it is on.
final class Toggle: SharedObservable {
  private let registrar = KVORegistrar()
  private let state: Locked<(isOn: Bool, value: Int)>
  /// Called when the value has been read.
  let hasRead = Slot<@Sendable () -> Void>()

  init(isOn: Bool) { state = Locked((isOn: isOn, value: 0)) }

  var isOn: Bool {
    get {
      registrar.access(self, keyPath: \.isOn)
      return state.withLock { $0.isOn }
    }
    set { set(isOn: newValue) }
  }
  var value: Int {
    registrar.access(self, keyPath: \.value)
    defer { hasRead.value?() }
    return state.withLock { $0.value }
  }
  var shown: Int { isOn ? value : -1 }

  /// Sets `isOn`, and calls `afterwards` before it says that the change has ended.
  func set(isOn: Bool, afterwards: () -> Void = {}) {
    registrar.withMutation(of: self, keyPath: \.isOn) {
      state.withLock { $0.isOn = isOn }
      afterwards()
    }
  }

  func setValue(_ value: Int, meanwhile: () -> Void = {}) {
    registrar.withMutation(of: self, keyPath: \.value) {
      meanwhile()
      state.withLock { $0.value = value }
    }
  }
}
