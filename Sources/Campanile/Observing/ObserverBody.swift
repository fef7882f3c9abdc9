/// The closure of an observer, and how it is called.
package struct ObserverBody<Value: Sendable>: Sendable {
  enum Kind: Sendable {
    case plain(@Sendable (Value) throws -> Void)
    /// Called with the subject of the message too.
    case told(@Sendable (Value, AnyObject?) throws -> Void)
    /// Called where the value is posted, to forward it to another center or process.
    case carrier(@Sendable (Value, borrowing Post) throws -> Void)
    /// Called in a task, with the subject of the message if `isTold`.
    case async(isTold: Bool, @Sendable (Value, AnyObject?) async throws -> Void)
    /// Called where the value is posted, and makes a call in a task, if it returns one.
    ///
    /// The task continues when the registration ends.
    case starter(@Sendable (Value) -> (@Sendable () async -> Void)?)
    /// Called where the value is posted, to update a derived state, and is notified of the end.
    case tap(@Sendable (Value, borrowing Post) -> Void, onEnd: @Sendable () -> Void)
    /// Stores the value where it is posted, with the subject of the message, and is notified of the
    /// end.
    ///
    /// It is for sequences, which throw nothing except the request to end.
    case reader(
      @Sendable (Value, AnyObject?) throws -> Void, onEnd: @Sendable () -> Void,
      buffer: BufferCounts? = nil)
  }

  /// The closure to call with the value, if the observer needs nothing else.
  let plain: (@Sendable (Value) throws -> Void)?
  /// Everything else, in an object, so that a plain body is passed on without type metadata.
  private let special: Special?

  private final class Special: Sendable {
    let kind: Kind
    let isWanted: (@Sendable (Value, AnyObject?) -> Bool)?
    init(_ kind: Kind, where isWanted: (@Sendable (Value, AnyObject?) -> Bool)? = nil) {
      self.kind = kind
      self.isWanted = isWanted
    }
  }

  init(_ kind: Kind) {
    if case .plain(let observer) = kind {
      plain = observer
      special = nil
    } else {
      plain = nil
      special = Special(kind)
    }
  }

  @inline(__always)
  package init(_ observer: @escaping @Sendable (Value) throws -> Void) {
    plain = observer
    special = nil
  }

  /// A body that is called where the value is posted, to forward it to another center or process.
  package init(inPlace observer: @escaping @Sendable (Value, borrowing Post) throws -> Void) {
    self.init(.carrier(observer))
  }

  /// A body that is called where the value is posted, and returns a call to make in a task, if any.
  ///
  /// It is for sources without transforms.
  package init(starting start: @escaping @Sendable (Value) -> (@Sendable () async -> Void)?) {
    self.init(.starter(start))
  }

  private init(_ plain: (@Sendable (Value) throws -> Void)?, _ special: Special) {
    self.plain = plain
    self.special = special
  }

  /// The closure of a plain body, to call with the value.
  @inline(__always)
  consuming func takePlain() -> @Sendable (Value) throws -> Void { plain! }

  /// Whether the values are stored for a sequence.
  package var isReader: Bool { if case .reader = kind { true } else { false } }

  var kind: Kind {
    // One of the two is there, if not both.
    if let plain { .plain(plain) } else { special!.kind }
  }

  /// Which values are for the observer, with their subjects, checked where they are posted; `nil` for
  /// all values.
  ///
  /// It is used for an observer with its own buffer, in which each value takes room.
  package var isWanted: (@Sendable (Value, AnyObject?) -> Bool)? { special?.isWanted }

  /// Returns the observer with no room in its buffer for values that it does not want.
  ///
  /// An observer without its own buffer may still be called with the other values.
  package func taking(_ isWanted: @escaping @Sendable (Value, AnyObject?) -> Bool) -> Self {
    Self(plain, Special(kind, where: isWanted))
  }

  /// The observer without a selection of values.
  var takingAll: Self { isWanted == nil ? self : Self(kind) }

  /// An observer that receives its owner, as long as the owner lives.
  package init<Owner: AnyObject & Sendable>(
    _ owner: Owner, _ observer: @escaping @Sendable (Owner, Value) throws -> Void
  ) {
    let reference = OwnerReference(owner)
    self.init { value in
      guard let owner = reference.object else { throw ObservationIsOver() }
      try observer(owner, value)
    }
  }

  init(onMain observer: @escaping @MainActor @Sendable (Value) throws -> Void) {
    // The main queue is the main actor's executor; this checks it.
    self.init { value in try MainActor.assumeIsolated { try observer(value) } }
  }

  init<Owner: AnyObject & Sendable>(
    _ owner: Owner, onMain observer: @escaping @MainActor @Sendable (Owner, Value) throws -> Void
  ) {
    self.init(owner) { owner, value in
      try MainActor.assumeIsolated { try observer(owner, value) }
    }
  }

  init<Instance: Actor>(
    isolatedTo instance: Instance,
    _ observer: @escaping @Sendable (isolated Instance, Value) throws -> Void
  ) {
    self.init(instance) { instance, value in
      // The target drains in a method of the actor; this checks it.
      try instance.assumeIsolated { try observer($0, value) }
    }
  }

  init(async observer: @escaping @Sendable (Value) async throws -> Void) {
    self.init(.async(isTold: false) { value, _ in try await observer(value) })
  }

  init<Owner: AnyObject & Sendable>(
    _ owner: Owner, async observer: @escaping @Sendable (Owner, Value) async throws -> Void
  ) {
    let reference = OwnerReference(owner)
    self.init(async: { value in
      guard let owner = reference.object else { throw ObservationIsOver() }
      try await observer(owner, value)
    })
  }

  /// Whether the observer is called only by the poster.
  func isImmediate(_ delivery: Delivery) -> Bool {
    if case .async = kind { return false }
    return delivery.target == nil
  }
}
