import Campanile
import CampanileKVO
import Testing

/// What the observers of one `changes(of:)` receive, one after the other.
@Suite("Observers of one source of changes", .ownThread)
struct SourceOrderTests {
  // MARK: Changes that an observer makes

  @Test(
    "K14 A set by an observer of a source is told after the change, to all of its observers, once",
    arguments: [false, true])
  func setInCall(isDistinct: Bool) {
    let (counter, queue) = (Counter(), TestQueue())
    let heard = (0..<3).map { _ in Recorder<Int>() }
    let source = counter.changes(of: \.count, options: isDistinct ? .distinct : [])
    let tokens = [
      source.observe { [counter] change in
        heard[0].record(change.new)
        if change.new == 1 { counter.count = 2 }
      },
      source.observe { heard[1].record($0.new) },
      source.observe(on: queue.delivery) { heard[2].record($0.new) },
    ]
    counter.count = 1
    counter.count = 3
    queue.flush()
    for heard in heard { #expect(heard.values == [1, 2, 3]) }
    withExtendedLifetime(tokens) {}
  }

  @Test("An edit by an observer of a source is an edit for all of its observers, in order")
  func editInCall() {
    let list = SharedList([1])
    let replica = SharedReplica([1])
    let source = list.changes(of: \.items, options: .old)
    let tokens = [
      source.observe { [list] change in
        if change.new.count < 4 { list.mutableArray(\.items).insert(change.new.count, at: 0) }
      },
      source.observe { replica.apply($0) },
    ]
    list.mutableArray(\.items).append(7)
    #expect(replica.faults == [])
    #expect(replica.elements == list.items)
    #expect(replica.editCount == 3)
    withExtendedLifetime(tokens) {}
  }

  @Test("An observer with its own buffer ends with the newest value, and with no edit out of order")
  func buffered() async throws {
    let (list, queue) = (SharedList([1]), TestQueue())
    let replicas = [SharedReplica([1]), SharedReplica([1])]
    let heard = Recorder<Int>()
    let source = list.changes(of: \.items)
    let tokens = [
      source.observe { [list] change in
        if change.new.count == 2 { list.mutableArray(\.items).insert(3, at: 0) }
      },
      source.observe(on: queue.delivery.buffered(.newest(8))) { replicas[0].apply($0) },
      source.observeAsync { change in
        replicas[1].apply(change)
        heard.record(change.new.count)
      },
    ]
    list.mutableArray(\.items).append(7)
    queue.flush()
    try await heard.expect(2, 3, within: patience)
    for replica in replicas {
      #expect(replica.faults == [])
      #expect(replica.elements == list.items)
    }
    withExtendedLifetime(tokens) {}
  }

  // MARK: Buffers

  @Test(
    "A bounded buffer ends with the newest value if it left out the change inside a change",
    arguments: [false, true])
  func nestedAndDropped(isDistinct: Bool) async throws {
    let (counter, queue, gate) = (Counter(), TestQueue(), AsyncGate())
    let (heard, heardAsync) = (Recorder<Int>(), Recorder<Int>())
    let source = counter.changes(of: \.count, options: isDistinct ? .distinct : [])
    let tokens = [
      source.observe { [counter] change in if change.new == 1 { counter.count = 2 } },
      source.observe(on: queue.delivery.buffered(.newest(1))) { heard.record($0.new) },
      source.observeAsync(buffering: .newest(1)) { change in
        heardAsync.record(change.new)
        await gate.pass()
      },
    ]
    queue.hold()
    counter.count = 10
    await gate.waitUntilReached()
    counter.count = 1
    gate.open()
    queue.letGo()
    queue.flush()
    #expect(heard.values == [2])
    try await heardAsync.expect(10, 2, within: patience)
    withExtendedLifetime(tokens) {}
  }

  // MARK: After a pause

  @Test("K14 The one change after a pause leads from the known value to the newest")
  func editAfterPause() {
    let list = SharedList([1])
    let (replica, kinds) = (SharedReplica([1]), Recorder<Edit>())
    let token = list.changes(of: \.items, options: [.initial, .old]).observe { change in
      replica.apply(change)
      kinds.record(change.edit)
    }
    token.pause()
    list.mutableArray(\.items).append(2)
    list.mutableArray(\.items).append(3)
    token.resume()
    #expect(replica.faults == [])
    #expect(kinds.values == [.setting, .setting])
    list.mutableArray(\.items).append(4)
    #expect(kinds.values == [.setting, .setting, .insertion])
    #expect(replica.faults == [])
    #expect(replica.elements == [1, 2, 3, 4])
    withExtendedLifetime(token) {}
  }

  @Test("The only change of a pause is still an edit")
  func oneEditInPause() {
    let list = SharedList([1])
    let (replica, kinds) = (SharedReplica([1]), Recorder<Edit>())
    let token = list.changes(of: \.items, options: .initial).observe { change in
      replica.apply(change)
      kinds.record(change.edit)
    }
    token.pause()
    list.mutableArray(\.items).append(2)
    token.resume()
    #expect(kinds.values == [.setting, .insertion])
    #expect(replica.faults == [])
    withExtendedLifetime(token) {}
  }

  // MARK: Memory

  @Test("K16 A source that begins with a value does not keep the value before it")
  func oldIsReleased() {
    final class Watched: Sendable {}
    let box = SharedBox<Watched>()
    let hadOld = Recorder<Bool>()
    let token = box.changes(of: \.content, options: [.initial, .old]).observe { change in
      hadOld.record(change.old.flatMap { $0 } != nil)
    }
    box.content = Watched()
    weak let old = box.content
    box.content = nil
    #expect(hadOld.values == [false, false, true])
    #expect(old == nil)
    withExtendedLifetime(token) {}
  }
}
