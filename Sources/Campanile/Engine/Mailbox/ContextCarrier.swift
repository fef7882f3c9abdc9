/// Carries the poster's context, such as task-local values, to observers that run elsewhere.
///
/// The context may be the identifier of a request or the span of a trace. The code that posts and
/// its immediate observers can read it, but an observer on a queue, on an actor or in another task
/// only if a carrier was installed at launch:
///
/// ```swift
/// enum Request { @TaskLocal static var id: String? }
///
/// ContextCarrier(Request.$id).install()
/// ```
///
/// From then on every observer of every source is called with the value that was set where the
/// message was posted. The value is read when a delivery is queued, on the thread that posts, and
/// restored around the call. The reader of a sequence runs in its own task, with the values of that
/// task. The call with which a state begins or resumes an observer has the values of the code that
/// registered or resumed it.
///
/// While a carrier is installed, a delivery to another place and each set of a ``CurrentValue``
/// cost a few more allocations. Immediate observers of other sources cost no more than before.
public struct ContextCarrier: Sendable {
  fileprivate let capture: @Sendable () -> PostContext?

  /// Creates a carrier of a task-local value, or of its default value where the poster set none.
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    self.init(
      capture: { Optional(local.get()) },
      restore: { value, call in local.withValue(value, operation: call) },
      restoreAsync: { value, call in await local.withValue(value, operation: call) })
  }

  /// Creates a carrier of any other context, such as a thread-local value or the state of a
  /// library.
  ///
  /// - Parameters:
  ///   - capture: Reads the context where a message is posted, or returns `nil` if there is none to
  ///     carry. It is called on the thread that posts, while no lock is held. After `nil`, the
  ///     observer sees the context of the thread that delivers, so if the context can be absent,
  ///     return a value that says so.
  ///   - restore: Sets the context, and calls the closure that it receives exactly once. It is also
  ///     called where the call of an asynchronous observer is prepared, before `restoreAsync`.
  ///   - restoreAsync: Sets the context around the call of an asynchronous observer.
  public init<Context: Sendable>(
    capture: @escaping @Sendable () -> Context?,
    restore: @escaping @Sendable (Context, () -> Void) -> Void,
    restoreAsync: @escaping @Sendable (Context, () async -> Void) async -> Void
  ) {
    let silence =
      "A context carrier's closure restored a context and did not make the call it was given"
    let repetition = "A context carrier's closure made the call it was given twice"
    self.capture = {
      guard let context = capture() else { return nil }
      return PostContext(
        around: { call in
          var isCalled = false
          restore(context) {
            require(!isCalled, repetition)
            isCalled = true
            call()
          }
          require(isCalled, silence)
        },
        aroundAsync: { call in
          var isCalled = false
          await restoreAsync(context) {
            require(!isCalled, repetition)
            isCalled = true
            await call()
          }
          require(isCalled, silence)
        })
    }
  }

  // MARK: Installing

  private static let installed = Locked<[ContextCarrier]>([])

  fileprivate static var all: [ContextCarrier] { installed.withLock { $0 } }

  /// Installs the carrier for every source, for as long as the process runs.
  ///
  /// If several carriers are installed, the first restores its context outermost.
  public func install() {
    Self.installed.withLock { $0.append(self) }
    PostContext.noteCarrier()
  }
}

extension PostContext {
  /// The context that the installed carriers capture here; `nil` if there is none.
  package static var current: PostContext? {
    ContextCarrier.all.reduce(nil) { outer, carrier in
      guard let inner = carrier.capture() else { return outer }
      guard let outer else { return inner }
      return PostContext(
        around: { call in outer.around { inner.around(call) } },
        aroundAsync: { call in await outer.aroundAsync { await inner.aroundAsync(call) } })
    }
  }
}
