import Campanile
import Dispatch
import Foundation
import Synchronization

/// A message with its poster, and its number among the messages of that poster.
struct SoakNote: MessageCenter.Message {
  let poster: Int
  let number: Int
}

/// A message about one thing.
struct SoakMove: MessageCenter.Message {
  typealias Subject = SoakThing
  let number: Int
}

final class SoakThing: Sendable {}

/// An owner that ends its registrations itself.
final class SoakOwner: LifetimeOwner {
  let lifetime = Lifetime()
}

/// The sources that live as long as the soak, with observers that count what they hear.
final class SoakWorld: Sendable {
  let center = MessageCenter()
  let level = CurrentValue(0)
  let queues = (0..<3).map { DispatchQueue(label: "soak \($0)") }
  let counts: SoakCounts
  private let threads: Int
  private let seed: UInt64
  private let round = Atomic<Int>(0)
  private let witnesses = Mutex<[ObservationToken]>([])
  private let bounded = Mutex<Registration?>(nil)

  init(threads: Int, seed: UInt64) {
    self.threads = threads
    self.seed = seed
    counts = SoakCounts(posters: threads)
    let immediate = center.observe(SoakNote.self) { [counts] note in counts.hear(note) }
    let queued = center.observe(SoakNote.self, on: .queue(queues[0], ordered: true)) {
      [counts] note in
      counts.hearInOrder(note)
    }
    let few = center.observe(SoakNote.self, on: .queue(queues[1], buffering: .newest(16))) {
      [counts] _ in
      counts.few.wrappingAdd(1, ordering: .relaxed)
    }
    let moves = center.observe(SoakMove.self) { [counts] _ in
      counts.movesHeard.wrappingAdd(1, ordering: .relaxed)
    }
    let changes = level.observe { [counts] _ in counts.changes.wrappingAdd(1, ordering: .relaxed) }
    bounded.withLock { $0 = few.registration }
    witnesses.withLock { $0 = [immediate, queued, few, moves, changes] }
  }

  var operations: Int { counts.operations.load(ordering: .relaxed) }
  var posts: Int { counts.notes + counts.moves.load(ordering: .relaxed) }
  var deliveries: Int { counts.deliveries.load(ordering: .relaxed) + counts.heardByWitnesses }

  var summary: String {
    "\(operations) operations, \(posts) posts, \(deliveries) deliveries, "
      + "\(counts.registrations.load(ordering: .relaxed)) registrations, "
      + "\(counts.threads.load(ordering: .relaxed)) threads, nothing lost, nothing out of order"
  }

  /// Lets threads loose for a while; when they have ended, checks what was heard.
  func runRound(seconds: Double) throws {
    let number = round.wrappingAdd(1, ordering: .relaxed).newValue
    let end = ContinuousClock.now + .seconds(seconds)
    let waits = (0..<threads).map { index in
      onThread {
        var worker = SoakWorker(
          self, poster: index, seed: self.seed &+ UInt64(number * 1_000 + index))
        worker.work(until: end)
      }
    }
    for wait in waits { wait() }
    try check()
  }

  /// Runs `body` on a thread of its own.
  func onThread(_ body: @escaping @Sendable () -> Void) -> () -> Void {
    counts.threads.wrappingAdd(1, ordering: .relaxed)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      body()
      done.signal()
    }
    thread.start()
    return { done.wait() }
  }

  private func check() throws {
    try waitUntilQuiet()
    try require(counts.heard.load(ordering: .relaxed) == counts.notes, "a message was lost")
    try require(
      counts.movesHeard.load(ordering: .relaxed) == counts.moves.load(ordering: .relaxed),
      "a message about a subject was lost")
    try require(
      counts.changes.load(ordering: .relaxed) == counts.sets.load(ordering: .relaxed),
      "a change of the current value was lost")
    try require(!counts.isOutOfOrder.load(ordering: .relaxed), "messages were out of order")
    // The witnesses; everything else has ended with the threads, or with its owner.
    try require(center.observerCount == 4, "\(center.observerCount) observers are left")
    try require(level.observerCount == 1, "\(level.observerCount) followers are left")
  }

  /// What is queued is heard in the end; half a minute is more than that takes.
  private func waitUntilQuiet() throws {
    let limit = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < limit {
      for queue in queues { queue.sync {} }
      let dropped = bounded.withLock { $0?.droppedCount ?? 0 }
      let few = counts.few.load(ordering: .relaxed) + dropped
      if counts.queued.load(ordering: .relaxed) == counts.notes, few == counts.notes { return }
    }
    throw Failure("Something queued was lost: \(counts.description) of \(counts.notes) messages.")
  }

  private func require(_ condition: Bool, _ sentence: String) throws {
    if !condition {
      throw Failure("After \(operations) operations \(sentence): \(counts.description).")
    }
  }
}

/// What was done and what was heard, by all threads.
final class SoakCounts: Sendable, CustomStringConvertible {
  let operations = Atomic<Int>(0)
  let registrations = Atomic<Int>(0)
  let threads = Atomic<Int>(0)
  let moves = Atomic<Int>(0)
  let movesHeard = Atomic<Int>(0)
  let sets = Atomic<Int>(0)
  let changes = Atomic<Int>(0)
  let heard = Atomic<Int>(0)
  let queued = Atomic<Int>(0)
  let few = Atomic<Int>(0)
  /// What observers that come and go heard.
  let deliveries = Atomic<Int>(0)
  let isOutOfOrder = Atomic<Bool>(false)
  /// How many notes each poster has posted, and which one came last to the observer on a queue.
  private let posted: Mutex<[Int]>
  private let newest: Mutex<[Int]>

  init(posters: Int) {
    posted = Mutex(Array(repeating: 0, count: posters))
    newest = Mutex(Array(repeating: 0, count: posters))
  }

  /// The notes posted so far.
  var notes: Int { posted.withLock { $0.reduce(0, +) } }

  func nextNote(of poster: Int) -> SoakNote {
    posted.withLock { posted in
      posted[poster] += 1
      return SoakNote(poster: poster, number: posted[poster])
    }
  }

  func hear(_ note: SoakNote) { heard.wrappingAdd(1, ordering: .relaxed) }

  func hearInOrder(_ note: SoakNote) {
    queued.wrappingAdd(1, ordering: .relaxed)
    newest.withLock { newest in
      if newest[note.poster] + 1 != note.number { isOutOfOrder.store(true, ordering: .relaxed) }
      newest[note.poster] = note.number
    }
  }

  var heardByWitnesses: Int {
    [heard.load(ordering: .relaxed), queued.load(ordering: .relaxed), few.load(ordering: .relaxed)]
      .reduce(movesHeard.load(ordering: .relaxed) + changes.load(ordering: .relaxed), +)
  }

  var description: String {
    "heard \(heard.load(ordering: .relaxed)), on a queue \(queued.load(ordering: .relaxed)), "
      + "moves \(movesHeard.load(ordering: .relaxed)) of \(moves.load(ordering: .relaxed)), "
      + "changes \(changes.load(ordering: .relaxed)) of \(sets.load(ordering: .relaxed))"
  }
}
