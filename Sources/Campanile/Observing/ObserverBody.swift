/// The closure of an observer, and how it is called.
///
/// There are two kinds: one is called with the post, by the poster or at a target, and the other is
/// called later, in a task. A closure that needs only the value is a common case of the first kind.
package struct ObserverBody<Value: Sendable>: Sendable {
  enum Kind: Sendable {
    /// Called with the registration's identifier and its list, too.
    case synchronous(@Sendable (Value, Post, UInt64, ObserverList) throws -> Void)
    case asynchronous(@Sendable (Value, Post) async throws -> Void)
  }

  /// Selects values by themselves and their posts.
  package typealias Selection = @Sendable (Value, Post) -> Bool

  /// The closure to call with the value, if the observer is called with nothing else.
  let plain: (@Sendable (Value) throws -> Void)?
  /// Everything else, in an object, so that a plain body is passed on without type metadata.
  private let special: Special?

  private final class Special: Sendable {
    /// `nil` for a plain body.
    let kind: Kind?
    let traits: BodyTraits
    let isWanted: Selection?

    init(_ kind: Kind?, _ traits: BodyTraits, _ isWanted: Selection?) {
      self.kind = kind
      self.traits = traits
      self.isWanted = isWanted
    }
  }

  package init(_ observer: @escaping @Sendable (Value) throws -> Void) {
    plain = observer
    special = nil
  }

  init(
    plain: (@Sendable (Value) throws -> Void)? = nil, kind: Kind? = nil, _ traits: BodyTraits,
    where isWanted: Selection? = nil
  ) {
    self.plain = plain
    special = Special(kind, traits, isWanted)
  }

  /// A body that is called with the post.
  ///
  /// It is for requests without a place, whose observers are called where the value is posted.
  package init(inPlace observer: @escaping @Sendable (Value, Post) throws -> Void) {
    self.init(kind: .synchronous { value, post, _, _ in try observer(value, post) }, BodyTraits())
  }

  /// A body that updates a derived state.
  init(tap: @escaping @Sendable (Value, Post) -> Void, onEnd: (@Sendable () -> Void)? = nil) {
    let traits = BodyTraits(name: RegistrationDescription.derivedState, onEnd: onEnd)
    self.init(kind: .synchronous { value, post, _, _ in tap(value, post) }, traits)
  }

  /// A body that fills the buffer of a sequence.
  init(filling buffer: SequenceBuffer, _ observer: @escaping @Sendable (Value) throws -> Void) {
    let traits = BodyTraits(name: "a sequence", buffer: buffer.counts) { buffer.finish() }
    self.init(plain: observer, traits)
  }

  /// A body that is called where the value is posted, and returns a call to make in a task, if any.
  ///
  /// The task continues when the registration ends.
  package init(
    starting start: @escaping @Sendable (Value) -> (@Sendable () async -> Void)?,
    file: StaticString, line: UInt
  ) {
    let traits = BodyTraits(name: "asynchronously, concurrently", isAsynchronous: true)
    let location = CallSite(file: file, line: line)
    let kind = Kind.synchronous { value, post, id, list in
      guard let call = start(value) else { return }
      let facts = ObserverFacts(
        Registration(list: list, id: id, counters: nil), location, delivery: traits.name!,
        isAsynchronous: true)
      Task { [details = post.details] in
        let reported = list.registry.begin(facts, details)
        await reported.around(call)
        if let reported { list.registry.end(reported) }
      }
    }
    self.init(kind: kind, traits)
  }

  /// Whether the closure to call with the value is all there is.
  @inline(__always)
  var isPlain: Bool { special == nil }

  var kind: Kind {
    // One of the two is there.
    if let plain { .synchronous { value, _, _, _ in try plain(value) } } else { special!.kind! }
  }

  /// Whether it fills the buffer of a sequence.
  package var isSequence: Bool { traits.buffer != nil }

  @inline(__always)
  var traits: BodyTraits { special?.traits ?? BodyTraits() }

  /// Which values are for the observer, checked where they are posted; `nil` for all values.
  ///
  /// It is used for an observer with its own buffer, in which each value takes room. An observer
  /// without its own buffer may still be called with the other values.
  package var isWanted: Selection? { special?.isWanted }

  /// Returns the observer with an object that it keeps for as long as it is registered.
  package func keeping(_ kept: any AnyObject & Sendable) -> Self {
    var traits = traits
    traits.atEnd { withExtendedLifetime(kept) {} }
    return Self(plain: plain, kind: special?.kind, traits, where: isWanted)
  }

  /// An observer that receives its owner, as long as the owner lives.
  package init<Owner: AnyObject & Sendable>(
    _ owner: Owner, _ observer: @escaping @Sendable (Owner, Value) throws -> Void
  ) {
    self.init(OwnerReference(owner).bind(observer))
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
    let traits = BodyTraits(name: "asynchronously", isAsynchronous: true, isLasting: true)
    self.init(kind: .asynchronous { value, _ in try await observer(value) }, traits)
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
}

/// The facts about an observer body, beside its closure.
struct BodyTraits: Sendable {
  /// The name of the delivery in descriptions, if it is not that of the request.
  var name: String?
  /// Whether the calls are made in tasks.
  var isAsynchronous = false
  /// Whether a call continues in a task, and itself ends a registration with `.once`.
  var isLasting = false
  /// Whether it reads the subject of the post, which is then kept for it.
  var receivesSubject = false
  /// The counts of the buffer that it fills.
  var buffer: BufferCounts?
  /// Called when the observation has ended, or at once if it is refused.
  ///
  /// The observer keeps what it captures.
  var onEnd: (@Sendable () -> Void)?

  /// Adds something to do at the end.
  mutating func atEnd(_ action: @escaping @Sendable () -> Void) {
    guard let onEnd else { return onEnd = action }
    self.onEnd = {
      action()
      onEnd()
    }
  }
}
