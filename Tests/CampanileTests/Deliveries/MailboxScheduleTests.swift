import Testing

@testable import Campanile

/// Who delivers, and which jobs are enqueued: each event in each stage.
@Suite("The schedule at a mailbox", .ownThread)
struct MailboxScheduleTests {
  enum Stage: CaseIterable {
    case idle, scheduled, draining, inline
  }

  /// A schedule, and how often it has asked for the poster's priority.
  private final class Machine {
    private var schedule = MailboxSchedule()
    private(set) var lookUpCount = 0

    init() {}

    /// The only job that is enqueued or delivers, if any, is a medium one.
    init(_ stage: Stage) {
      switch stage {
      case .idle: break
      case .scheduled: #expect(arrive(.medium) == .medium)
      case .draining:
        #expect(arrive(.medium) == .medium)
        #expect(begin(.medium))
      case .inline: #expect(beginInline())
      }
      lookUpCount = 0
    }

    var isIdle: Bool { schedule.isIdle }

    func arrive(_ poster: Urgency) -> Urgency? {
      func lookUp() -> Urgency {
        lookUpCount += 1
        return poster
      }
      return schedule.arrive(lookUp())
    }
    func beginInline() -> Bool { schedule.beginInline() }
    func begin(_ job: Urgency) -> Bool { schedule.begin(job) }
    func end(_ job: Urgency, isEmpty: Bool) -> Urgency? { schedule.end(job, isEmpty: isEmpty) }
    func isMoreUrgent(than job: Urgency) -> Bool { schedule.isMoreUrgent(than: job) }
    func giveUp(_ job: Urgency) { schedule.giveUp(job) }
  }

  // MARK: A post arrives

  @Test("A post asks for a job at an idle mailbox alone", arguments: Stage.allCases)
  func arrives(stage: Stage) {
    let machine = Machine(stage)
    #expect(machine.arrive(.medium) == (stage == .idle ? .medium : nil))
    #expect(machine.lookUpCount == 1)
    #expect(!machine.isIdle)
  }

  @Test("A post at an idle mailbox leaves it to a late job, if that is as urgent")
  func arrivesBeforeLateJob() {
    for (late, first) in [(Urgency.high, Urgency.medium), (.medium, .high)] {
      let machine = Machine()
      // Of two jobs one delivers everything, and the other is late.
      #expect(machine.arrive(.medium) == .medium)
      #expect(machine.arrive(.high) == .high)
      #expect(machine.begin(first))
      #expect(machine.end(first, isEmpty: true) == nil)
      #expect(machine.isIdle)
      #expect(machine.arrive(.high) == (late == .high ? nil : .high))
      #expect(!machine.isIdle)
      #expect(machine.begin(late))
    }
  }

  @Test("A post before the jobs begin asks for one more, if it is more urgent than all of them")
  func arrivesBeforeJobs() {
    let machine = Machine()
    #expect(machine.arrive(.background) == .background)
    #expect(machine.arrive(.background) == nil)
    #expect(machine.arrive(.medium) == .medium)
    #expect(machine.arrive(.background) == nil)
    #expect(machine.arrive(.high) == .high)
    #expect(machine.lookUpCount == 5)
    // Nothing can be much more urgent now, so that nobody looks.
    #expect(machine.arrive(.high) == nil)
    #expect(machine.lookUpCount == 5)
  }

  @Test(
    "The most urgent post during a drain is remembered", arguments: [Stage.draining, .inline])
  func arrivesDuringDrain(stage: Stage) {
    let machine = Machine(stage)
    #expect(!machine.isMoreUrgent(than: .background))
    #expect(machine.arrive(.medium) == nil)
    #expect(machine.isMoreUrgent(than: .background))
    #expect(!machine.isMoreUrgent(than: .medium))
    #expect(machine.arrive(.high) == nil)
    #expect(machine.isMoreUrgent(than: .medium))
    #expect(!machine.isMoreUrgent(than: .high))
    #expect(machine.arrive(.background) == nil)
    #expect(machine.lookUpCount == 2)
    #expect(machine.end(.medium, isEmpty: false) == .high)
  }

  // MARK: A poster is on the target

  @Test("A poster on the target gets an idle mailbox alone", arguments: Stage.allCases)
  func beginsInline(stage: Stage) {
    let machine = Machine(stage)
    #expect(machine.beginInline() == (stage == .idle))
    #expect(machine.isIdle == false)
  }

  // MARK: A job begins

  @Test("A job delivers if something waits and nobody else delivers", arguments: Stage.allCases)
  func begins(stage: Stage) {
    let machine = Machine(stage)
    #expect(machine.begin(.medium) == (stage == .scheduled))
    #expect(machine.isIdle == (stage == .idle))
  }

  @Test("A job that begins beside another one hands its priority over", arguments: Stage.allCases)
  func handsOver(stage: Stage) {
    let machine = Machine(stage)
    _ = machine.begin(.high)
    #expect(machine.isMoreUrgent(than: .medium) == (stage == .draining))
    #expect(!machine.isMoreUrgent(than: .high))
  }

  @Test("A job that begins is no longer on its way, and the others are")
  func oneBit() {
    let machine = Machine()
    #expect(machine.arrive(.background) == .background)
    #expect(machine.arrive(.high) == .high)
    #expect(machine.begin(.high))
    // The job in the background would do for what is no more urgent.
    #expect(machine.end(.background, isEmpty: false) == nil)
    #expect(machine.begin(.background))
    #expect(machine.end(.high, isEmpty: false) == .high)
  }

  // MARK: A turn ends

  @Test(
    "What is left goes on as urgently as the turn, or as a post that came meanwhile",
    arguments: [Stage.draining, .inline])
  func ends(stage: Stage) {
    for posted in [Urgency.background, .medium, .high] {
      let machine = Machine(stage)
      #expect(machine.arrive(posted) == nil)
      #expect(machine.end(.medium, isEmpty: false) == max(posted, .medium))
      #expect(!machine.isIdle)
      #expect(machine.begin(max(posted, .medium)))
    }
    let machine = Machine(stage)
    #expect(machine.end(.medium, isEmpty: false) == .medium)
  }

  @Test("What is left is left to a job on its way, if that is as urgent")
  func endsBeforeLateJob() {
    let machine = Machine()
    #expect(machine.arrive(.background) == .background)
    #expect(machine.arrive(.high) == .high)
    #expect(machine.begin(.background))
    #expect(machine.end(.background, isEmpty: false) == nil)
    #expect(!machine.isIdle)
    #expect(machine.begin(.high))
  }

  @Test(
    "What was wanted in a turn that leaves nothing is forgotten",
    arguments: [Stage.draining, .inline]
  )
  func endsEmpty(stage: Stage) {
    let machine = Machine(stage)
    #expect(machine.arrive(.high) == nil)
    #expect(machine.end(.medium, isEmpty: true) == nil)
    #expect(machine.isIdle)
    #expect(machine.arrive(.background) == .background)
    #expect(machine.begin(.background))
    #expect(!machine.isMoreUrgent(than: .background))
    #expect(machine.end(.background, isEmpty: false) == .background)
  }

  // MARK: A job is released

  @Test("A job that is released makes a scheduled mailbox idle", arguments: Stage.allCases)
  func givesUp(stage: Stage) {
    let machine = Machine(stage)
    machine.giveUp(.medium)
    #expect(machine.isIdle == (stage == .idle || stage == .scheduled))
    switch stage {
    case .idle, .scheduled: #expect(machine.arrive(.medium) == .medium)
    case .draining, .inline: #expect(machine.end(.medium, isEmpty: false) == .medium)
    }
  }

  @Test("Of two jobs one is released: the other is still on its way, and finds nothing")
  func givesUpOneOfTwo() {
    let machine = Machine()
    #expect(machine.arrive(.background) == .background)
    #expect(machine.arrive(.high) == .high)
    machine.giveUp(.background)
    #expect(machine.isIdle)
    #expect(machine.arrive(.medium) == nil)
    machine.giveUp(.medium)
    #expect(machine.isIdle)
    #expect(!machine.begin(.high))
    #expect(machine.isIdle)
  }
}
