public import Observation

extension Observable where Self: AnyObject {
  /// A proxy for an array property, whose changes report what was inserted, removed or replaced.
  public func mutableArray<Element>(
    _ keyPath: ReferenceWritableKeyPath<Self, [Element]>
  ) -> KVOArray<Self, Element> {
    KVOArray(self, keyPath)
  }

  /// A proxy for a set property, whose changes report whether members were inserted or removed.
  public func mutableSet<Element>(
    _ keyPath: ReferenceWritableKeyPath<Self, Set<Element>>
  ) -> KVOSet<Self, Element> {
    KVOSet(self, keyPath)
  }
}

extension SharedObservable {
  /// A proxy for an array property, whose changes report what was inserted, removed or replaced.
  public func mutableArray<Element>(
    _ keyPath: ReferenceWritableKeyPath<Self, [Element]>
  ) -> KVOArray<Self, Element> {
    KVOArray(self, keyPath)
  }

  /// A proxy for a set property, whose changes report whether members were inserted or removed.
  public func mutableSet<Element>(
    _ keyPath: ReferenceWritableKeyPath<Self, Set<Element>>
  ) -> KVOSet<Self, Element> {
    KVOSet(self, keyPath)
  }
}
