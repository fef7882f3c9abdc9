#if canImport(Glibc)
  import Foundation
  import Testing

  @testable import Campanile
  @testable import CampanileFoundation

  /// Whatever keeps something is made, used and dropped many times, and nothing is left.
  @Suite("K16 Rounds leave nothing", .ownThread)
  struct RoundsTests {
    /// Expects that `round` leaves no allocated bytes: of at most six portions of rounds, one leaves
    /// less than 8 KiB.
    ///
    /// In a process of its own, so that no other test's memory is counted.
    private static func expectNothingLeft(_ name: String, _ round: (Int) -> Void) {
      let count = Effort.times(400, long: 2_000)
      for number in 0..<200 { round(number) }
      var growths: [Int] = []
      let isClean = (1...6).contains { _ in
        let before = liveBytes
        #expect(before > 0)
        for number in 0..<count { round(number) }
        growths.append(liveBytes - before)
        return growths.last! < 8 * 1_024
      }
      #expect(isClean, "\(name): \(growths) bytes")
    }

    /// Lets Swift Testing keep no stacks of the errors that are thrown in this process.
    ///
    /// It keeps one for each error, such as those by which an observer says that its owner is dead.
    private static func forgetThrownErrors() {
      // SAFETY: the runtime calls the function at this address for each error, unless there is none.
      unsafe dlsym(nil, "_swift_willThrow")?.assumingMemoryBound(to: UInt.self).pointee = 0
    }

    /// What is made at a source in each round.
    enum AtSource: String, CaseIterable, Codable, Sendable {
      case source, registrations, onlyCalls, pauses, bag, owner, sequences, derivedSource
    }

    @Test("Whatever is made at a source of numbers", arguments: AtSource.allCases)
    func atSources(keeper: AtSource) async {
      await #expect(processExitsWith: .success) { [keeper = keeper as AtSource] in
        RoundsTests.forgetThrownErrors()
        for kind in NumberSource.Kind.allCases {
          let (target, life) = (ManualTarget(), LiveCount())
          let staying = NumberSource(kind, on: target.delivery)
          let forms = [.immediate, .owned] + Form.atQueue
          func observe(_ source: NumberSource, once: Bool = false) -> [Registration] {
            forms.map { form in
              source.observe(form, once: once) { [tracked = Tracked(life)] _ in tracked.touch() }
            }
          }
          RoundsTests.expectNothingLeft("\(keeper) at \(kind)") { number in
            var registrations: [Registration] = []
            func send() {
              for next in number..<number + 3 { staying.send(next) }
              // What waits in every other round is given up with its observer.
              if number % 2 == 0 { target.runJobs() }
            }
            switch keeper {
            case .source:
              let source = NumberSource(kind, on: target.delivery)
              _ = observe(source)
              source.send(number)
            case .registrations:
              registrations = observe(staying)
              send()
            case .onlyCalls:
              registrations = observe(staying, once: true)
              send()
            case .owner:
              _ = observe(staying)
              send()
              staying.owner.set(Screen())
              staying.send(number)
            case .pauses:
              registrations = observe(staying)
              for one in registrations { one.pause() }
              send()
              for one in registrations { one.resume() }
            case .bag:
              let bag = TokenBag()
              for one in observe(staying) { bag.insert(one) }
              send()
            case .sequences:
              let values = [
                staying.numbers.values(), staying.numbers.values(buffering: .newest(2)),
              ]
              var reader = values[0].makeAsyncIterator()
              send()
              withExtendedLifetime((values, reader)) {}
              reader = values[1].makeAsyncIterator()
            case .derivedSource:
              let odd = staying.numbers.map { $0 * 2 + 1 }.filter { $0 > 0 }
              let token = odd.observe(on: target.delivery.buffered(.newest(4))) { _ in }
              send()
              token.cancel()
            }
            for one in registrations { one.cancel() }
            staying.bag.cancel()
            target.runJobs()
          }
          staying.send(0)
          target.runJobs()
          #expect(life.current == 0, "\(keeper) at \(kind)")
          #expect(staying.observerCount() ?? 0 == 0, "\(keeper) at \(kind)")
        }
      }
    }

    /// What else is made in each round.
    enum Other: String, CaseIterable, Codable, Sendable {
      case targets, actors, lifetimes, multicasts, members, mappedStates, combinedStates
      case latestMessages, unreadValues, keys, subjectsOfAnyKey, keysDuringAPost
    }

    private static func makeRound(_ other: Other) -> (Int) -> Void {
      let (center, ticks, state) = (MessageCenter(), Broadcaster<Int>(), CurrentValue(0))
      let keyed = KeyedCenter<Int>()
      func observe(_ key: String?, about subject: AnyObject?? = .none) {
        let body = ObserverBody<Int> { _ in }
        keyed.register(.init(), body, of: key, about: subject).cancel()
      }
      switch other {
      case .targets:
        return { number in
          let target = ManualTarget()
          let tokens = [Buffering.unbounded, .newest(4)].map { buffering in
            ticks.observe(on: target.delivery.buffered(buffering)) { _ in }
          }
          for value in 0..<8 { ticks.send(value) }
          if number % 2 == 0 { target.runJobs() }
          withExtendedLifetime(tokens) {}
        }
      case .actors: return { _ in ticks.observe(on: Statistics()) { $0.append($1) } }
      case .lifetimes:
        return { number in
          let room = Room()
          ticks.observe(owner: room) { $0.heard.record($1) }
          center.observe(Tick.self, owner: room) { $0.heard.record($1.number) }
          ticks.send(number)
        }
      case .multicasts:
        return { number in
          let (rooms, room) = (Multicast<Room>(), Room())
          rooms.add(room)
          rooms.call { $0.heard.record(number) }
        }
      case .members:
        let (rooms, staying) = (Multicast<Room>(), Room())
        return { _ in
          rooms.add(Room())
          rooms.add(staying)
          rooms.call { _ in }
          rooms.remove(staying)
        }
      case .mappedStates:
        return { number in
          let token = state.map { "\($0)" }.observe(options: .distinct) { _ in }
          state.value = number
          token.cancel()
        }
      case .combinedStates:
        let other = CurrentValue("")
        return { number in
          let token = state.combined(with: other).observe { _ in }
          state.value = number
          token.cancel()
        }
      case .latestMessages:
        return { number in
          let center = MessageCenter()
          let latest = center.latest(of: Tick.self)
          let token = latest.observe(options: .initial) { _ in }
          center.post(Tick(number: number))
          token.cancel()
        }
      case .unreadValues:
        let values = ticks.values(buffering: .newest(4))
        return { number in
          for value in 0..<20 { ticks.send(value) }
          withExtendedLifetime(values) {}
        }
      case .keys: return { number in observe("\(number)") }
      case .subjectsOfAnyKey: return { _ in observe(nil, about: Player()) }
      case .keysDuringAPost:
        let gate = Gate()
        _ = keyed.register(
          .init(), ObserverBody { _ in gate.pass() }, of: "held", about: .none)
        _ = onThread { keyed.post(to: "held", about: nil) { 0 } }
        gate.waitUntilReached()
        return { number in
          observe("\(number)")
          observe(nil, about: Player())
        }
      }
    }

    @Test("Whatever else keeps something", arguments: Other.allCases)
    func others(other: Other) async {
      await #expect(processExitsWith: .success) { [other = other as Other] in
        RoundsTests.expectNothingLeft("\(other)", RoundsTests.makeRound(other))
      }
    }

    /// What is observed in a run about subjects.
    enum Subjects: String, CaseIterable, Codable, Sendable {
      case one, oneBesideAnother, many, hundreds
    }

    @Test("Observers about subjects", arguments: Subjects.allCases, SubjectKind.all)
    func subjects(subjects: Subjects, kind: SubjectKind) async {
      await #expect(processExitsWith: .success) {
        [subjects = subjects as Subjects, kind = kind as SubjectKind] in
        SubjectKind.$current.withValue(kind) {
          let (center, other, player) = (MessageCenter(), Player(), Player())
          let crowd = (0..<(subjects == .hundreds ? 300 : 0)).map { _ in Player() }
          func observe(_ player: Player) -> ObservationToken {
            center.messages(of: LevelChanged.self, about: player).observe { _ in }
          }
          // It keeps the table.
          let staying = subjects == .one ? nil : observe(other)
          RoundsTests.expectNothingLeft("\(subjects), \(kind)") { number in
            switch subjects {
            case .one, .oneBesideAnother: observe(player).cancel()
            case .many: observe(Player()).cancel()
            case .hundreds:
              // A few rounds do as much as many of the others.
              if number % 30 != 0 { return }
              let tokens = crowd.map(observe)
              for token in number % 60 == 0 ? tokens : tokens.reversed() { token.cancel() }
            }
          }
          withExtendedLifetime((other, staying)) {}
        }
      }
    }
  }
#endif
