import Testing

@testable import Campanile

/// What a mailbox decides, without the lock, the target and the threads of one.
@Suite("The state of a mailbox", .ownThread)
struct MailboxStateTests {
  private let source = Broadcaster<Int>()
  private let heard = Recorder<Int>()
  private let token: ObservationToken

  init() {
    token = source.observe { [heard] in heard.record($0) }
  }

  private var envelope: Envelope {
    var route = Route()
    route.all = Cursor(unread: source.list)
    return Envelope(to: route, .max - 1, Post(), WildcardValue.absent)
  }

  private func makeEnvelope(_ tracker: DeliveryTracker? = nil) -> Envelope {
    let post = tracker.map { Post().tracked(by: $0) } ?? Post()
    return Envelope(post, at: token.registration.id, in: source.list)
  }

  private struct Admitted {
    /// What became of the record.
    let admission: Buffering.Admission?
    /// The value that is here now, and the tracker of its post.
    let left: Int
    let tracker: DeliveryTracker?
    /// The job that is to be enqueued.
    let job: Urgency?
  }

  /// Takes a record in for the only observer.
  private func admit(
    _ value: Int, to state: MailboxMachine, _ tracker: DeliveryTracker? = nil
  ) -> Admitted {
    var (envelope, value, job) = (makeEnvelope(tracker), value, Urgency?.none)
    let admission = state.state.admit(&envelope, &value, &job, by: .medium)
    return Admitted(admission: admission, left: value, tracker: envelope.tracker, job: job)
  }

  /// Delivers the batch of a job to the observer of envelopes.
  private func deliver(_ state: MailboxMachine) -> [Int] {
    let before = heard.count
    _ = state.deliver(.max)
    return Array(heard.values.dropFirst(before))
  }

  // MARK: A target

  @Test("The first record of a target asks for a job, and the job takes all that waits")
  func target() {
    let state = MailboxMachine()
    #expect(state.isIdle)
    #expect(state.append(envelope, 1) != nil)
    #expect(state.append(envelope, 2) == nil)
    #expect(!state.isIdle)
    #expect(state.waitingCount == 2)
    let job = Urgency.medium
    #expect(state.begin(job) == 0)
    #expect(state.kept == nil)
    #expect(state.waitingCount == 0)
    #expect(deliver(state) == [1, 2])
    #expect(state.append(envelope, 3) == nil)
    #expect(state.take(job) == 0)
    #expect(deliver(state) == [3])
    #expect(!state.isIdle)
    #expect(state.take(job) == nil)
    #expect(state.isIdle)
  }

  @Test("What a job leaves keeps its place, and another job goes on with it")
  func giveWay() {
    let state = MailboxMachine()
    for value in 1...3 { _ = state.append(envelope, value) }
    let job = Urgency.medium
    #expect(state.begin(job) == 0)
    #expect(state.deliver(1) == 1)
    _ = state.append(envelope, 4)
    #expect(state.giveWay(job) == job)
    #expect(state.isEmpty)
    #expect(state.waitingCount == 3)
    #expect(state.begin(job) == 1)
    #expect(deliver(state) == [2, 3])
    #expect(state.take(job) == 0)
    #expect(deliver(state) == [4])
    #expect(state.giveWay(job) == nil)
    #expect(state.isIdle)
  }

  @Test("A poster on the target gets an idle mailbox alone, and asks for a job for what came")
  func inline() {
    let state = MailboxMachine()
    #expect(state.beginInline())
    #expect(!state.beginInline())
    #expect(state.endInline() == nil)
    #expect(state.isIdle)
    #expect(state.beginInline())
    #expect(state.append(envelope, 1) == nil)
    #expect(state.endInline() != nil)
    #expect(!state.beginInline())
    #expect(state.begin(.medium) == 0)
    #expect(!state.beginInline())
    #expect(deliver(state) == [1])
  }

  @Test("What a released job gives up is counted, the rest of a batch too")
  func discard() {
    let state = MailboxMachine()
    for value in 1...3 { _ = state.append(envelope, value) }
    let job = Urgency.medium
    #expect(state.begin(job) == 0)
    #expect(state.deliver(1) == 1)
    #expect(state.giveWay(job) == job)
    _ = state.append(envelope, 4)
    var parts: [Int] = []
    while state.discard(job) {
      parts.append(state.count)
      state.discardAll()
    }
    #expect(parts == [2, 1])
    #expect(state.discardedCount == 3)
    #expect(state.isIdle)
    #expect(state.append(envelope, 5) != nil)
  }

  @Test("A job that is released while another one delivers takes what waits, and not the turn")
  func discardBesideDrain() {
    let state = MailboxMachine()
    _ = state.append(envelope, 1)
    #expect(state.append(envelope, 2, by: .high) == .high)
    #expect(state.begin(.medium) == 0)
    #expect(deliver(state) == [1, 2])
    #expect(state.append(envelope, 3) == nil)
    #expect(state.discard(.high))
    #expect(state.only == nil)
    #expect(state.count == 1)
    state.discardAll()
    #expect(!state.discard(.high))
    #expect(state.discardedCount == 1)
    #expect(!state.isIdle)
    #expect(state.append(envelope, 4) == nil)
    #expect(state.take(.medium) == 0)
    #expect(deliver(state) == [4])
    #expect(state.take(.medium) == nil)
    #expect(state.isIdle)
  }

  // MARK: One observer

  @Test("K10 What is not kept leaves with its own envelope")
  func envelopesLeave() {
    let (old, new) = (DeliveryTracker(), DeliveryTracker())
    let newest = MailboxMachine(.newest(1))
    #expect(admit(1, to: newest, old).admission == .free)
    let exchanged = admit(2, to: newest, new)
    #expect(exchanged.left == 1)
    #expect(exchanged.tracker === old)
    let oldest = MailboxMachine(.oldest(1))
    #expect(admit(1, to: oldest, old).admission == .free)
    let refused = admit(2, to: oldest, new)
    #expect(refused.left == 2)
    #expect(refused.tracker === new)
    #expect(oldest.close() != nil)
    #expect(admit(3, to: oldest, new).tracker === new)
  }

  @Test(
    "K12 The newest push the oldest out, and the oldest refuse the newest", arguments: [1, 2, 8])
  func bounds(capacity: Int) {
    let newest = MailboxMachine(.newest(capacity))
    let oldest = MailboxMachine(.oldest(capacity))
    for value in 0..<20 {
      let isKept = value < capacity
      let (one, other) = (admit(value, to: newest), admit(value, to: oldest))
      #expect(one.admission == (isKept ? .free : .inExchange))
      #expect(other.admission == (isKept ? .free : .refused))
      if !isKept {
        #expect(one.left == value - capacity)
        #expect(other.left == value)
      }
      #expect((one.job != nil) == (value == 0))
      #expect((other.job != nil) == (value == 0))
    }
    #expect(newest.waitingCount == capacity)
    #expect(oldest.waitingCount == capacity)
    #expect(oldest.isFull)
    #expect(!newest.isFull)
    #expect(oldest.begin(.medium) != nil)
    #expect(!oldest.isFull)
    oldest.discardAll()
    #expect(admit(20, to: oldest).admission == .free)
    #expect(oldest.isFull)
    _ = oldest.close()
    #expect(!oldest.isFull)
  }

  @Test("K12 A job takes the oldest record of one observer alone, and its list is kept meanwhile")
  func oneByOne() {
    let state = MailboxMachine(.newest(2))
    for value in 1...2 { _ = admit(value, to: state) }
    let job = Urgency.medium
    #expect(state.begin(job) == 1)
    #expect(state.kept === source.list)
    #expect(state.count == 1)
    // There is room for one more now, and no more.
    #expect(admit(3, to: state).admission == .free)
    #expect(admit(4, to: state).left == 2)
    state.discardAll()
    #expect(state.take(job) == 1)
    state.discardAll()
    #expect(state.take(job) == 0)
    state.discardAll()
    #expect(state.take(job) == nil)
    #expect(state.isIdle)
    #expect(admit(5, to: state).job != nil)
  }

  @Test("K16 A closed mailbox gives up what waits and its list, and takes nothing in any more")
  func close() {
    let state = MailboxMachine(.unbounded)
    for value in 1...3 { _ = admit(value, to: state) }
    let job = Urgency.medium
    #expect(state.begin(job) == 2)
    #expect(state.registration == token.registration)
    state.discardAll()
    #expect(state.close() === source.list)
    #expect(state.count == 2)
    #expect(state.registration == nil)
    let late = admit(4, to: state)
    #expect(late.admission == nil)
    #expect(late.left == 4)
    #expect(late.job == nil)
    state.discardAll()
    #expect(state.take(job) == nil)
    #expect(state.isIdle)
  }

  @Test("What is given up of one observer is counted, and more can come")
  func discardOfOne() {
    let state = MailboxMachine(.newest(8))
    for value in 1...3 { _ = admit(value, to: state) }
    #expect(state.discard(.medium))
    #expect(state.count == 3)
    #expect(state.discardedCount == 3)
    #expect(state.only == token.registration)
    state.discardAll()
    #expect(!state.discard(.medium))
    #expect(state.isIdle)
    #expect(admit(4, to: state).job != nil)
  }

  @Test("K16 What is dropped or given up is released", arguments: [1, 2, 8])
  func released(capacity: Int) {
    let live = LiveCount()
    let source = Broadcaster<Tracked>()
    let token = source.observe { _ in }
    let state = MailboxMachine(.newest(capacity))
    for _ in 0..<50 {
      var (envelope, job) = (
        Envelope(Post(), at: token.registration.id, in: source.list), Urgency?.none
      )
      var value = Tracked(live)
      _ = state.state.admit(&envelope, &value, &job, by: .medium)
    }
    #expect(live.current == capacity)
    _ = state.close()
    state.discardAll()
    #expect(live.current == 0)
  }
}
