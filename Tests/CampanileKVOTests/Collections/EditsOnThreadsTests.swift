import Campanile
import CampanileKVO
import Observation
import Testing

/// Arrays that several threads edit, behind a lock.
@Suite("Edits on several threads", .ownThread)
struct EditsOnThreadsTests {
  @Test("K14 Edits that another thread makes meanwhile are told in order, as edits")
  func leftEdits() {
    let list = SharedList()
    let gate = Gate()
    let kinds = Recorder<Edit>()
    let replica = SharedReplica()
    let token = list.observe(\.items) { _, change in
      kinds.record(change.edit)
      replica.apply(change)
      if change.new.count == 1 { gate.pass() }
    }
    let first = onThread { list.mutableArray(\.items).append(1) }
    gate.waitUntilReached()
    list.mutableArray(\.items).append(2)
    list.mutableArray(\.items).removeAll()
    gate.open()
    first()
    #expect(kinds.values == [.insertion, .insertion, .removal])
    list.mutableArray(\.items).append(3)
    #expect(kinds.values.last == .insertion)
    #expect(replica.faults.isEmpty && replica.elements == [3])
    withExtendedLifetime(token) {}
  }

  @Test(
    "K6 Who rebuilds an array from its edits has it in the end, whoever edits it",
    arguments: [2, 8])
  func replicas(width: Int) {
    let list = SharedList()
    let replicas = (0..<5).map { _ in SharedReplica() }
    // It may be told more than one job delivers.
    let queue = TestQueue()
    let tokens = [
      list.observe(\.items, options: .initial) { _, change in replicas[0].apply(change) },
      list.observe(\.items, options: .old) { _, change in replicas[1].apply(change) },
      list.observe(\.items, options: .distinct) { _, change in replicas[2].apply(change) },
      list.changes(of: \.items).observe(on: queue.delivery) { replicas[3].apply($0) },
      list.observe(\.all) { _, change in replicas[4].apply(change) },
    ]
    onThreads(width) { thread in
      var random = thread &* 7919 &+ 13
      for round in 0..<150 {
        random = random &* 1_103_515_245 &+ 12_345
        let items = list.mutableArray(\.items)
        switch (random >> 16) & 7 {
        case 0, 1, 2: items.append(round)
        case 3: items.insert(contentsOf: [round, thread], at: 0)
        case 4: items.removeAll { $0 & 3 == thread & 3 }
        case 5: list.items = [thread]
        case 6: items.edit { $0.reverse() }
        default: items.append(contentsOf: [round, round])
        }
      }
    }
    list.mutableArray(\.items).append(-1)
    queue.flush()
    for (index, replica) in replicas.enumerated() {
      #expect(replica.faults.isEmpty, "of observer \(index)")
      #expect(replica.elements == list.items, "of observer \(index)")
      // The computed path is told the newest value.
      #expect(replica.editCount > 0 || index == 4, "of observer \(index)")
    }
    withExtendedLifetime(tokens) {}
  }

  @Test(
    "K14 Who begins to rebuild an array while others edit it has it in the end", arguments: [2, 8])
  func joining(width: Int) {
    let list = SharedList()
    let joined = Locked<[(SharedReplica, ObservationToken)]>([])
    onThreads(width) { thread in
      let items = list.mutableArray(\.items)
      for round in 0..<60 {
        switch (round &* 7 &+ thread) % 6 {
        case 0:
          let replica = SharedReplica()
          let token =
            thread % 2 == 0
            ? list.observe(\.items, options: .initial) { _, change in replica.apply(change) }
            : list.observe(\.all, options: .initial) { _, change in replica.apply(change) }
          joined.withLock { $0.append((replica, token)) }
        case 1: items.removeAll { $0 % 2 == round % 2 }
        case 2: list.items = [thread]
        default: items.append(round)
        }
      }
    }
    list.mutableArray(\.items).append(-1)
    let replicas = joined.withLock { $0.map(\.0) }
    #expect(replicas.count >= width)
    for replica in replicas {
      #expect(replica.faults.isEmpty && replica.elements == list.items)
    }
    joined.withLock { $0 = [] }
  }
}
