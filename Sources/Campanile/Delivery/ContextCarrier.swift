import Synchronization

private let isAnyCarrierInstalled = Atomic<Bool>(false)

/// Takes what surrounds the code that posts to the observers that are called elsewhere.
///
/// A task-local value, such as the identifier of a request or the span of a trace, is known to the
/// code that posts and to its immediate observers. An observer on a queue, on an actor or in a task
/// of its own does not know it, unless a carrier is installed at launch:
///
/// ```swift
/// enum Request { @TaskLocal static var id: String? }
///
/// ContextCarrier(Request.$id).install()
/// ```
///
/// From then on every observer of every source is called with the value that there was where the
/// message was posted. The value is read when a delivery is kept for later, on the thread that
/// posts, and restored around the call. The reader of a sequence is code of its own, and has the
/// values of its own task.
///
/// While a carrier is installed, a delivery to another place costs a few allocations more.
/// Immediate observers cost nothing more.
public struct ContextCarrier: Sendable {
  fileprivate let capture: @Sendable () -> Restoration?

  /// What gives a context back around a call.
  struct Restoration: Sendable {
    let around: @Sendable (() -> Void) -> Void
    let aroundAsync: @Sendable (() async -> Void) async -> Void
  }

  /// Creates a carrier of a task-local value, of its default where the poster has none of its own.
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    self.init(
      capture: { Optional(local.get()) },
      restore: { value, call in local.withValue(value, operation: call) },
      restoreAsync: { value, call in await local.withValue(value, operation: call) })
  }

  /// Creates a carrier of something else: a thread-local value, the state of a library.
  ///
  /// - Parameters:
  ///   - capture: Reads the context where a message is posted; `nil` if there is none to carry. Called
  ///     on the thread that posts, under no lock.
  ///   - restore: Calls the closure that it is given once, with the context in force.
  ///   - restoreAsync: The same for the call of an asynchronous observer.
  public init<Context: Sendable>(
    capture: @escaping @Sendable () -> Context?,
    restore: @escaping @Sendable (Context, () -> Void) -> Void,
    restoreAsync: @escaping @Sendable (Context, () async -> Void) async -> Void
  ) {
    self.capture = {
      guard let context = capture() else { return nil }
      return Restoration(
        around: { call in
          var isCalled = false
          restore(context) {
            isCalled = true
            call()
          }
          precondition(isCalled, Self.silence)
        },
        aroundAsync: { call in
          var isCalled = false
          await restoreAsync(context) {
            isCalled = true
            await call()
          }
          precondition(isCalled, Self.silence)
        })
    }
  }

  private static var silence: String {
    "A context carrier's closure restored a context and did not make the call it was given"
  }

  // MARK: Installing

  private static let installed = Locked<[ContextCarrier]>([])

  /// Whether there is anything to read where a delivery is kept.
  @inline(__always)
  static var isAnyInstalled: Bool { isAnyCarrierInstalled.load(ordering: .relaxed) }

  fileprivate static var all: [ContextCarrier] { installed.withLock { $0 } }

  /// Puts the carrier in force, for every source and for as long as the process runs.
  ///
  /// Several carriers restore one inside the other, the first one outermost.
  public func install() {
    Self.installed.withLock { $0.append(self) }
    isAnyCarrierInstalled.store(true, ordering: .relaxed)
  }
}

/// What surrounded the code that made a post.
final class PostContext: Sendable {
  private let restorations: [ContextCarrier.Restoration]

  private init(_ restorations: [ContextCarrier.Restoration]) { self.restorations = restorations }

  /// What the installed carriers find here; `nil` if that is nothing.
  static var current: PostContext? {
    let found = ContextCarrier.all.compactMap { $0.capture() }
    return found.isEmpty ? nil : PostContext(found)
  }

  fileprivate func restore(from index: Int, _ call: () -> Void) {
    if index == restorations.count { return call() }
    restorations[index].around { restore(from: index + 1, call) }
  }

  fileprivate func restore(from index: Int, _ call: () async -> Void) async {
    if index == restorations.count { return await call() }
    await restorations[index].aroundAsync { await restore(from: index + 1, call) }
  }
}

extension PostContext? {
  /// Makes a call with the context in force, if there is one.
  @inline(__always)
  func restore(around call: () -> Void) {
    if let self { self.restore(from: 0, call) } else { call() }
  }

  /// Makes an asynchronous call with the context in force, if there is one.
  func restore(around call: () async -> Void) async {
    if let self { await self.restore(from: 0, call) } else { await call() }
  }
}
