import Campanile
import Observation
import Testing

@testable import CampanileKVO

/// What an observation knows of its observer while changes are on their way between two locks.
@Suite("The bookkeeping of edits")
struct EditBookkeepingTests {
  let radio = Radio()
  let property: ObservedProperty
  let link: Link
  private let performed = Transaction()
  private var transaction: ObjectIdentifier { ObjectIdentifier(performed) }

  init() {
    let collector = ReadCollector()
    collector.collect { [radio] in _ = radio.presets }
    property = collector.take()[0].property
    link = Link(property)
  }

  /// The beginning of an edit, as it is announced.
  private func beginningOfEdit() -> ObservedProperty.Event {
    let ear = Ear()
    let ended = Link(property)
    property.add(ended, ear)
    radio.mutableArray(\.presets).append("a")
    ended.end()
    return ear.events[0]
  }

  /// Keeps the beginnings that it hears of.
  private final class Ear: Evaluation {
    var events: [ObservedProperty.Event] = []

    init() {
      super.init(
        KVORequest(
          \Radio.presets, KVOChange<[Int]>.Options(), isShared: false, #fileID, #line),
        root: Radio())
    }

    override func readOld(_ report: inout ChangeReport, _ prior: inout PriorCall?) -> AnyObject? {
      events.append(ObservedProperty.Event(maker: .current, edit: report.edit))
      return nil
    }
  }

  private func event(by maker: ObservedProperty.Maker = .hand) -> ObservedProperty.Event {
    ObservedProperty.Event(maker: maker, edit: nil)
  }

  // Broken by: ChangeKeeper.end, if it does not count what is on its way.
  @Test("A change that has ended and is not told yet is one that the observer does not know")
  func onTheWay() throws {
    let edit = beginningOfEdit()
    #expect(edit.edit != nil)
    var keeper = ChangeKeeper()
    _ = keeper.begin(event(), link, on: 1)
    let ended = keeper.end(event(), over: link)
    let report = try #require(ended)
    var beginning = keeper.begin(edit, link, on: 2)
    #expect(beginning == .new)
    _ = keeper.forget([ObjectIdentifier(link)])

    let told = keeper.beginTelling(report, on: 1)
    #expect(told != nil)
    beginning = keeper.begin(edit, link, on: 2)
    #expect(beginning == .new)
    _ = keeper.forget([ObjectIdentifier(link)])
    // Inside the call, it is known.
    beginning = keeper.begin(edit, link, on: 1)
    #expect(beginning == .newToAll)
    _ = keeper.forget([ObjectIdentifier(link)])

    let next = keeper.nextReport()
    #expect(next == nil)
    beginning = keeper.begin(edit, link, on: 2)
    #expect(beginning == .newToAll)
  }

  // Broken by: ChangeKeeper.takeDeferred, if it does not count what is on its way.
  @Test("What a transaction has kept back is not known until it is told")
  func keptBack() throws {
    let edit = beginningOfEdit()
    var keeper = ChangeKeeper()
    _ = keeper.begin(event(), link, on: 1)
    let ended = keeper.end(event(), over: link)
    let isFirst = keeper.keepBack(try #require(ended), for: transaction, on: 1)
    #expect(isFirst)
    var beginning = keeper.begin(edit, link, on: 1, in: transaction)
    #expect(beginning == .known)
    _ = keeper.forget([ObjectIdentifier(link)])
    // Not in that transaction.
    beginning = keeper.begin(edit, link, on: 2)
    #expect(beginning == .new)
    _ = keeper.forget([ObjectIdentifier(link)])

    let taken = keeper.takeDeferred(for: transaction)
    let report = try #require(taken)
    beginning = keeper.begin(edit, link, on: 2)
    #expect(beginning == .new)
    _ = keeper.forget([ObjectIdentifier(link)])
    _ = keeper.beginTelling(report, on: 1)
    _ = keeper.nextReport()
    beginning = keeper.begin(edit, link, on: 2)
    #expect(beginning == .newToAll)
  }

  // Broken by: ChangeKeeper.keep, if it does not look again.
  @Test("A change that begins while the old value is read makes an edit a setting")
  func readingOld() throws {
    let edit = beginningOfEdit()
    var keeper = ChangeKeeper()
    let beginning = keeper.begin(edit, link, on: 2)
    #expect(beginning == .newToAll)
    _ = keeper.begin(event(), link, on: 1)
    keeper.keep(nil, edit.edit, of: edit.maker, on: 2)
    let ended = keeper.end(event(by: edit.maker), over: link)
    let report = try #require(ended)
    #expect(report.edit == nil)
  }

  // Broken by: ChangeKeeper.giveOut, if it does not count what is told.
  @Test("A change that is told between an edit's beginning and its end makes it a setting")
  func toldBetween() throws {
    let edit = beginningOfEdit()
    for isOvertaken in [false, true] {
      var keeper = ChangeKeeper()
      _ = keeper.begin(edit, link, on: 2)
      keeper.keep(nil, edit.edit, of: edit.maker, on: 2)
      if isOvertaken {
        _ = keeper.begin(event(), link, on: 1)
        let told = keeper.endAndTell(event(), over: link, on: 1)
        #expect(told != nil)
        _ = keeper.nextReport()
      }
      let told = keeper.endAndTell(event(by: edit.maker), over: link, on: 2)
      let report = try #require(told)
      #expect((report.edit == nil) == isOvertaken)
    }
  }

  // Broken by: ChangeKeeper.isSettled, if it does not look at what other threads have left.
  @Test("An edit inside a call is a setting if another thread's change waits for the call's end")
  func leftByOther() {
    let edit = beginningOfEdit()
    var keeper = ChangeKeeper()
    let told = keeper.endAndTell(event(by: .current), over: link, on: 1)
    #expect(told != nil)
    _ = keeper.begin(event(), link, on: 2)
    let left = keeper.endAndTell(event(), over: link, on: 2)
    #expect(left == nil)
    let beginning = keeper.begin(edit, link, on: 1)
    #expect(beginning == .new)
  }

  // Broken by: ChangeReport.add, if it forgets that a change was not read.
  @Test("K14 A change that could not be read is not compared, nor what a transaction puts it into")
  func unreadInTransaction() throws {
    var keeper = ChangeKeeper()
    _ = keeper.begin(event(by: .current), link, on: 2)
    _ = keeper.begin(event(), link, on: 1)
    keeper.keep(radio, nil, of: .hand, on: 1)
    for maker in [ObservedProperty.Maker.hand, .current] {
      let ended = keeper.end(event(by: maker), over: link)
      _ = keeper.keepBack(try #require(ended), for: transaction, on: 1)
    }
    let taken = keeper.takeDeferred(for: transaction)
    let told = keeper.beginTelling(try #require(taken), on: 1)
    let report = try #require(told)
    #expect(report.old === radio)
    #expect(report.known == nil)
  }

  // Broken by: ChangeKeeper.report, if a change whose beginning was not heard counts as read.
  @Test("K14 A change whose beginning was not heard is not compared with what others found")
  func unheard() throws {
    var keeper = ChangeKeeper()
    _ = keeper.begin(event(), link, on: 1)
    keeper.keep(radio, nil, of: .hand, on: 1)
    let told = keeper.endAndTell(event(by: .current), over: link, on: 2)
    #expect(try #require(told).known == nil)
  }

  // Broken by: ChangeReport.add, if it lets go of what it does not need.
  @Test("K7 No value is released while reports are put together")
  func droppedValues() throws {
    final class Value {
      let onEnd: () -> Void
      init(_ onEnd: @escaping () -> Void) { self.onEnd = onEnd }
      deinit { onEnd() }
    }
    var released = 0
    var reports: [ChangeReport] = []
    do {
      var keeper = ChangeKeeper()
      // Two changes that overlap, of which a transaction keeps back the first.
      _ = keeper.begin(event(), link, on: 1)
      keeper.keep(Value { released += 1 }, nil, of: .hand, on: 1)
      _ = keeper.begin(event(by: .current), link, on: 1)
      keeper.keep(Value { released += 1 }, nil, of: .current, on: 1)
      let first = keeper.end(event(), over: link)
      _ = keeper.keepBack(try #require(first), for: transaction, on: 1)
      var told: AnyObject? = Value { released += 1 }
      keeper.keepTold(&told)
      let second = keeper.endAndTell(event(by: .current), over: link, on: 1)
      reports.append(try #require(second))
      #expect(released == 0)
    }
    #expect(released == 0 && reports.count == 1)
    reports = []
    #expect(released == 3)
  }
}
