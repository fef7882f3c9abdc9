import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Notifications as a source among others", .ownThread, .bothCenters)
struct NotificationSourceTests {
  private actor Log {
    private(set) var numbers: [Int] = []

    func add(_ number: Int, _ heard: Inbox<Int>) {
      numbers.append(number)
      heard.record(number)
    }
  }

  /// A source of each kind, in a center of its own.
  enum Kind: CaseIterable {
    case named, any, about, typed, described, mapped, filtered

    func source(_ center: any TestedCenter, about bell: Bell) -> Signal<Int> {
      let named = center.notifications(of: Rung.notificationName)
      return switch self {
      case .named: named.map { $0.number }
      case .any: center.notifications(of: nil).map { $0.number }
      case .about: center.notifications(of: nil, object: bell).map { $0.number }
      case .typed: center.notifications(of: Rung.self).map { $0.number }
      case .described: center.notifications(of: Rung.descriptor, object: bell).map { $0.number }
      case .mapped: named.map { $0.number }.map { $0 * 2 }.map { $0 / 2 }
      case .filtered: named.filter { $0.number >= 0 }.map { $0.number }
      }
    }
  }

  private let center = makeCenter()
  private let heard = Recorder<Int>()

  @Test("It stands in an array with messages and broadcasters, and all are observed alike")
  func stored() {
    let (messages, ticks) = (MessageCenter(), Broadcaster<Int>())
    let sources: [Signal<Int>] = [
      ticks.signal,
      messages.messages(of: Rung.self).map { $0.number },
      center.notifications(of: .tick).map { $0.number },
      center.notifications(of: Rung.self).map { $0.number },
    ]
    let tokens = sources.enumerated().map { index, source in
      source.observe { [heard] in heard.record(index * 10 + $0) }
    }
    ticks.send(1)
    messages.post(Rung(number: 2))
    center.post(.tick, 3)
    center.post(Rung(number: 4))
    #expect(heard.values == [1, 12, 23, 34])
    withExtendedLifetime(tokens) {}
  }

  @Test("`map` and `filter` are asked where the observer runs, for each notification once")
  func transformed() {
    let (target, asked) = (ManualTarget(), Recorder<Int>())
    let even = center.notifications(of: .tick).filter { notification in
      asked.record(notification.number)
      return notification.number.isMultiple(of: 2)
    }
    let token = even.map { $0.number * 10 }.observe(on: .target(target)) { [heard] in
      heard.record($0)
    }
    for number in 1...4 { center.post(.tick, number) }
    #expect(asked.values == [])
    target.runJobs()
    #expect(asked.values == [1, 2, 3, 4])
    #expect(heard.values == [20, 40])
    withExtendedLifetime(token) {}
  }

  @Test("K12 what a filter leaves out takes no room in a sequence's buffer")
  func filteredBuffer() async {
    let values = center.notifications(of: .tick).filter { $0.number > 0 }.values(
      buffering: .newest(2))
    for number in [1, -1, 2, -2, 3, -3] { center.post(.tick, number) }
    #expect(await contents(of: values, upTo: 2).map(\.number) == [2, 3])
    #expect(values.registration.droppedCount == 1)
  }

  @Test(
    "K16 a source keeps its center, and what is observed through it does not",
    arguments: Kind.allCases)
  func center(kind: Kind) async {
    let bell = Bell()
    weak var seen: (any TestedCenter)?
    let released = Recorder<Bool>()
    func observe() -> ObservationToken {
      let source: Signal<Int>
      do {
        let center = makeCenter()
        seen = center
        source = kind.source(center, about: bell)
      }
      #expect(seen != nil)
      let token = source.observe { [heard, cargo = OnRelease { released.record(true) }] in
        cargo.touch()
        heard.record($0)
      }
      seen?.post(Rung(number: 1), object: bell)
      #expect(token.isActive)
      withExtendedLifetime(source) {}
      return token
    }
    let token = observe()
    #expect(seen == nil)
    // Who makes a hub for another center may be looking at this one's, and hold it for a moment.
    _ = await released.values(count: 1)
    #expect(!token.isActive)
    #expect(heard.values == [1])
  }

  @Test(
    "K16 a sequence ends with its center, and so does one that begins to be read later",
    arguments: Kind.allCases)
  func sequenceEnds(kind: Kind) async {
    let bell = Bell()
    weak var seen: (any TestedCenter)?
    func read() -> ValueSequence<Int> {
      let center = makeCenter()
      seen = center
      let values = kind.source(center, about: bell).values()
      center.post(Rung(number: 1), object: bell)
      return values
    }
    let values = read()
    #expect(seen == nil)
    #expect(await contents(of: values) == [1])
    #expect(await contents(of: values) == [])
  }

  @Test("Observers on actors are isolated to them, asynchronous ones too", arguments: Kind.allCases)
  @MainActor func isolated(kind: Kind) async {
    let (screen, log, room, bell) = (MainScreen(), Log(), Room(), Bell())
    let heard = (0..<7).map { _ in Inbox<Int>() }
    let source = kind.source(center, about: bell)
    let tokens = [
      source.observe(on: .main) { number in screen.add(number, heard[0]) },
      source.observeAsync { @MainActor number in
        await Task.yield()
        screen.add(number, heard[1])
      },
      source.observeAsync { heard[2].record($0) },
    ]
    source.observe(owner: screen, on: .main) { screen, number in screen.add(number, heard[3]) }
    source.observeAsync(owner: room) { @MainActor _, number in
      await Task.yield()
      screen.add(number, heard[4])
    }
    source.observe(on: log) { log, number in log.add(number, heard[5]) }
    let registration = source.observeAsync(owner: log) { log, number in
      await log.add(number, heard[6])
    }
    let values = source.values()
    for number in 1...3 { center.post(Rung(number: number), object: bell) }
    #expect(await contents(of: values, upTo: 3) == [1, 2, 3])
    for heard in heard { #expect(await heard.values(count: 3) == [1, 2, 3]) }
    #expect(screen.numbers.sorted() == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
    #expect(await log.numbers.sorted() == [1, 1, 2, 2, 3, 3])
    _ = await tokens[1].cancelAndWait()
    _ = await registration.cancelAndWait()
    #expect(!tokens[1].isActive && !registration.isActive)
    withExtendedLifetime((tokens, room, log)) {}
  }
}

/// A screen whose state belongs to the main actor.
@MainActor private final class MainScreen {
  var numbers: [Int] = []

  func add(_ number: Int, _ heard: Inbox<Int>) {
    numbers.append(number)
    heard.record(number)
  }
}
