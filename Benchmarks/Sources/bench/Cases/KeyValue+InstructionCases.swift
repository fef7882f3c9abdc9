import CampanileKVO

extension KeyValue {
  /// The cases whose instructions are counted.
  static var instructionCases: [InstructionCase] {
    [
      InstructionCase(name: "kvo-set", count: 1_000) { count in
        let object = Marked()
        blackHole(object.value)
        for value in 0..<count { object.value = value }
      },
      InstructionCase(name: "kvo-set-wrapped", count: 1_000) { count in
        let object = Wrapped()
        blackHole(object.value)
        for value in 0..<count { object.value = value }
      },
      InstructionCase(name: "kvo-set-in-place", count: 1_000) { count in
        let object = Wrapped()
        blackHole(object.values[0])
        for value in 0..<count { object.values[value & 3] = value }
      },
      InstructionCase(name: "kvo-set-observed-1", count: 500) { setObserved(\.value, [], 1, $0) },
      InstructionCase(name: "kvo-set-observed-10", count: 100) { setObserved(\.value, [], 10, $0) },
      InstructionCase(name: "kvo-set-old-1", count: 500) { setObserved(\.value, .old, 1, $0) },
      InstructionCase(name: "kvo-set-old-10", count: 100) { setObserved(\.value, .old, 10, $0) },
      InstructionCase(name: "kvo-set-wrapped-observed", count: 500) { count in
        let object = Wrapped()
        let owner = Owner(Sink())
        let controller = KVOController(owner: owner)
        controller.observe(object, \.value) { $0.add($2.new) }
        for value in 0..<count { object.value = value + 1 }
        withExtendedLifetime((controller, owner)) {}
      },
      InstructionCase(name: "kvo-set-computed", count: 500) { setObserved(\.sum, [], 1, $0) },
      InstructionCase(name: "kvo-set-computed-10", count: 100) { setObserved(\.sum, [], 10, $0) },
      InstructionCase(name: "kvo-set-computed-old", count: 500) { setObserved(\.sum, .old, 1, $0) },
      InstructionCase(name: "kvo-set-computed-distinct", count: 500) {
        setObserved(\.sum, .distinct, 1, $0)
      },
      InstructionCase(name: "kvo-set-two-paths", count: 500, run: setOfTwoPaths),
      InstructionCase(name: "kvo-set-nested", count: 500, run: setNested),
      InstructionCase(name: "kvo-transaction", count: 200, run: setInTransaction),
      InstructionCase(name: "kvo-update-shared", count: 500, run: updateShared),
      InstructionCase(name: "kvo-observe-cancel", count: 200, run: observeAndCancel),
      InstructionCase(name: "kvo-observe-cancel-more", count: 200, run: observeMoreAndCancel),
      // One controller has as many observations: each takes as long, however many there are.
      InstructionCase(name: "kvo-controller-100", count: 100, run: observeMany),
      InstructionCase(name: "kvo-controller-5000", count: 5_000, run: observeMany),
      InstructionCase(name: "kvo-controller-append-100", count: 100, run: appendMany),
      InstructionCase(name: "kvo-controller-append-5000", count: 5_000, run: appendMany),
    ]
  }

  private static func setObserved(
    _ keyPath: KeyPath<Marked, Int>, _ options: KVOChange<Int>.Options, _ observers: Int,
    _ count: Int
  ) {
    let object = Marked()
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    for _ in 0..<observers {
      controller.observe(object, keyPath, options: options, policy: .append) { $0.add($2.new) }
    }
    for value in 0..<count { object.value = value + 1 }
    withExtendedLifetime((controller, owner)) {}
  }

  private static func setNested(_ count: Int) {
    let object = Marked()
    let child = Marked()
    object.child = child
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    controller.observe(object, \.child?.value) { _, _, _ in }
    for value in 0..<count { child.value = value + 1 }
    withExtendedLifetime((controller, owner, object)) {}
  }

  /// A set of a property that two observed key paths read.
  private static func setOfTwoPaths(_ count: Int) {
    let object = Marked()
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    controller.observe(object, \.sum) { _, _, _ in }
    controller.observe(object, \.value) { _, _, _ in }
    for value in 0..<count { object.value = value + 1 }
    withExtendedLifetime((controller, owner)) {}
  }

  private static func setInTransaction(_ count: Int) {
    let object = Marked()
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    controller.observe(object, \.sum) { _, _, _ in }
    for value in 0..<count {
      KVOTransaction.perform {
        object.value = value + 1
        object.other = value + 1
      }
    }
    withExtendedLifetime((controller, owner)) {}
  }

  private static func updateShared(_ count: Int) {
    let object = Shared()
    let token = object.observe(\.value) { _, _ in }
    for _ in 0..<count { object.increment() }
    withExtendedLifetime(token) {}
  }

  private static func observeAndCancel(_ count: Int) {
    let object = Marked()
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    for _ in 0..<count {
      controller.observe(object, \.value) { _, _, _ in }
      controller.unobserve(object, \.value)
    }
    withExtendedLifetime(owner) {}
  }

  private static func observeMoreAndCancel(_ count: Int) {
    let object = Marked()
    let (owner, other) = (Owner(Sink()), Owner(Sink()))
    let (controller, lasting) = (KVOController(owner: owner), KVOController(owner: other))
    lasting.observe(object, \.value) { _, _, _ in }
    for _ in 0..<count {
      controller.observe(object, \.value) { _, _, _ in }
      controller.unobserve(object, \.value)
    }
    withExtendedLifetime((owner, other, lasting)) {}
  }

  /// One controller observes many objects, and no more of each second one.
  private static func observeMany(_ count: Int) {
    let objects = (0..<count).map { _ in Marked() }
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    for object in objects { controller.observe(object, \.value) { _, _, _ in } }
    for index in stride(from: 0, to: count, by: 2) {
      controller.unobserve(objects[index], \.value)
    }
    withExtendedLifetime((controller, owner, objects)) {}
  }

  /// One controller observes a property of one object many times.
  private static func appendMany(_ count: Int) {
    let object = Marked()
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    for _ in 0..<count { controller.observe(object, \.value, policy: .append) { _, _, _ in } }
    controller.unobserve(object, \.value)
    withExtendedLifetime((controller, owner, object)) {}
  }
}
