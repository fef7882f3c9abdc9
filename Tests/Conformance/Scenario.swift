import Campanile
import Foundation

/// One promise of the contract, put to the test.
struct Scenario: Sendable {
  /// The promise, as the contract numbers it.
  let promise: Int
  /// What is promised.
  let sentence: String
  let needs: Set<Ability>
  /// Throws ``Broken`` if the promise is.
  let check: @Sendable (Stage) throws -> Void

  init(
    _ promise: Int, _ sentence: String, _ needs: Ability...,
    check: @escaping @Sendable (Stage) throws -> Void
  ) {
    self.promise = promise
    self.sentence = sentence
    self.needs = Set(needs)
    self.check = check
  }

  static let all: [Scenario] = registering + calling + delivering + ending
}

/// Why a promise is broken: the end of a sentence that begins with the implementation.
struct Broken: Error {
  let sentence: String
  init(_ sentence: String) { self.sentence = sentence }
}

/// What became of one scenario with one implementation.
enum Verdict: Sendable, Equatable {
  case kept
  case broken(String)
  case notApplicable

  var isBroken: Bool { if case .broken = self { true } else { false } }
}

/// What a scenario is played on.
struct Stage: Sendable {
  let implementation: Implementation

  func makeSource() -> any Source { implementation.make() }

  func can(_ ability: Ability) -> Bool { implementation.abilities.contains(ability) }

  /// Runs `body` on a thread of its own.
  ///
  /// - Returns: What waits until it has ended.
  func begin(_ body: @escaping @Sendable () -> Void) -> Begun {
    let begun = Begun()
    Thread.detachNewThread {
      body()
      begun.done.signal()
    }
    return begun
  }

  func expect(_ condition: Bool, _ sentence: @autoclosure () -> String) throws {
    if !condition { throw Broken(sentence()) }
  }
}

/// What has begun on a thread of its own.
struct Begun: Sendable {
  fileprivate let done = DispatchSemaphore(value: 0)

  /// Waits until it has ended, and says whether it did so in time.
  ///
  /// - Parameter beats: For how long it is waited for: a tenth of a second each, and longer on a slow
  ///   machine, where what is waited for takes longer, too.
  func callAsFunction(within beats: Int = 200) -> Bool {
    for _ in 0..<beats {
      if done.wait(timeout: .now() + .milliseconds(100)) == .success {
        done.signal()
        return true
      }
      // The machine has found time for all that may be waited for: a thread, a queue and a task.
      let beat = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        DispatchQueue(label: "beat").async { Task { beat.signal() } }
      }
      beat.wait()
    }
    return false
  }
}

extension Scenario {
  /// Plays the scenario, on a thread that it may leave hanging.
  func verdict(on implementation: Implementation) -> Verdict {
    if !needs.isSubset(of: implementation.abilities) { return .notApplicable }
    let stage = Stage(implementation: implementation)
    let result = Outcome()
    // A scenario notices by itself what hangs, and says so better.
    let ends = stage.begin {
      do {
        try check(stage)
        result.set(.kept)
      } catch {
        result.set(.broken((error as? Broken)?.sentence ?? "\(error)"))
      }
    }
    return ends(within: 300) ? result.verdict : .broken("deadlocks")
  }
}

/// What a thread has found out.
private final class Outcome: @unchecked Sendable {
  private let lock = NSLock()
  // Protected by the lock.
  private var found = Verdict.broken("ends without a verdict")

  var verdict: Verdict { lock.withLock { found } }
  func set(_ verdict: Verdict) { lock.withLock { found = verdict } }
}

/// A serial queue that can be held: as a dispatch queue, and as an operation queue on it.
final class Place: Sendable {
  let queue = DispatchQueue(label: "place")
  let operations: OperationQueue
  private let gate = DispatchSemaphore(value: 0)

  init() {
    operations = OperationQueue()
    operations.maxConcurrentOperationCount = 1
    // SAFETY: the queue that is not retained is kept here.
    unsafe operations.underlyingQueue = queue
  }

  /// Nothing runs here from now on until `letGo()`.
  func hold() {
    let held = DispatchSemaphore(value: 0)
    operations.addOperation { [gate] in
      held.signal()
      gate.wait()
    }
    held.wait()
  }

  func letGo() { gate.signal() }

  /// Runs `body` here, and returns when it has ended.
  func run(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    operations.addOperation {
      body()
      done.signal()
    }
    done.wait()
  }

  /// Waits until what is here has run, and what that put here.
  func flush() {
    for _ in 0..<4 { run {} }
  }
}

/// An object that bounds a registration, and whose end is noticed at once.
final class Owner: Sendable {
  let lifetime: OwnerLifetime
  init() { lifetime = OwnerLifetime() }
}
