/// The rival called R: the limit, a call through a raw word for each observer, without any
/// reference counting, and without a way to end an observation.
@safe
final class RawLoop<Value> {
  private final class Box {
    let observer: (Value) -> Void
    init(_ observer: @escaping (Value) -> Void) { self.observer = observer }
  }

  // SAFETY: the first `count` words hold a reference that was retained, and `deinit` releases it.
  private let boxes: UnsafeMutablePointer<Unmanaged<Box>>
  private var count = 0

  init(capacity: Int) {
    unsafe boxes = .allocate(capacity: max(1, capacity))
  }

  deinit {
    for index in 0..<count { unsafe boxes[index].release() }
    unsafe boxes.deallocate()
  }

  /// Adds an observer; there must be room.
  func observe(_ observer: @escaping (Value) -> Void) {
    unsafe (boxes + count).initialize(to: .passRetained(Box(observer)))
    count += 1
  }

  @inline(never)
  func send(_ value: Value) {
    for index in 0..<count {
      unsafe boxes[index]._withUnsafeGuaranteedRef { $0.observer(value) }
    }
  }
}

/// The limit for observers with an owner: the raw loop, and a weak load for each owner.
@safe
final class RawOwnerLoop<Value, Owner: AnyObject> {
  private final class Box {
    weak let owner: Owner?
    let observer: (Owner, Value) -> Void
    init(_ owner: Owner, _ observer: @escaping (Owner, Value) -> Void) {
      self.owner = owner
      self.observer = observer
    }
  }

  // SAFETY: the first `count` words hold a reference that was retained, and `deinit` releases it.
  private let boxes: UnsafeMutablePointer<Unmanaged<Box>>
  private var count = 0

  init(capacity: Int) {
    unsafe boxes = .allocate(capacity: max(1, capacity))
  }

  deinit {
    for index in 0..<count { unsafe boxes[index].release() }
    unsafe boxes.deallocate()
  }

  /// Adds an observer; there must be room.
  func observe(owner: Owner, _ observer: @escaping (Owner, Value) -> Void) {
    unsafe (boxes + count).initialize(to: .passRetained(Box(owner, observer)))
    count += 1
  }

  @inline(never)
  func send(_ value: Value) {
    for index in 0..<count {
      unsafe boxes[index]._withUnsafeGuaranteedRef { box in
        if let owner = box.owner { box.observer(owner, value) }
      }
    }
  }
}
