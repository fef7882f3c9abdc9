#if canImport(Glibc)
  import Foundation
  import Glibc
  import Testing

  @testable import Campanile

  /// Live bytes after some rounds of adding and cancelling, and after several times as many.
  ///
  /// What each round leaves behind shows in ten thousand of them: 64 KiB are seven bytes for each.
  ///
  /// Each test has a process of its own, so that no other test's memory is counted.
  @Suite("Live bytes", .serialized, .ownThread)
  struct MemoryTests {
    enum Order: Codable, Sendable { case lastInFirstOut, firstInFirstOut }

    /// What a run holds while it adds and cancels.
    struct Setting: Codable, Sendable, CustomTestStringConvertible {
      var order: Order
      /// How many registrations live at a time.
      var living: Int
      /// Whether an observer of the list is held in mid-call.
      var isHeld: Bool
      var width = 1

      var testDescription: String {
        "\(order), \(living) living, \(isHeld ? "held" : "free"), \(width) threads"
      }

      static let all = [
        Setting(order: .lastInFirstOut, living: 1, isHeld: false),
        Setting(order: .lastInFirstOut, living: 1, isHeld: true),
        Setting(order: .firstInFirstOut, living: 10, isHeld: false, width: 2),
        Setting(order: .firstInFirstOut, living: 10, isHeld: true, width: 2),
        Setting(order: .lastInFirstOut, living: 10, isHeld: true, width: 8),
      ]
    }

    #if DEBUG
      private static let rounds = (
        early: Effort.times(2_000, long: 10_000), late: Effort.times(12_000, long: 100_000)
      )
    #else
      private static let rounds = (early: 100_000, late: 1_000_000)
    #endif

    private static func run(_ source: Broadcaster<Int>, _ setting: Setting, rounds: Int) {
      onEndedThreads(setting.width) {
        var tokens: [ObservationToken] = []
        tokens.reserveCapacity(setting.living)
        for _ in 0..<(rounds / setting.width / setting.living) {
          for _ in 0..<setting.living { tokens.append(source.observe { _ in }) }
          switch setting.order {
          case .lastInFirstOut: for token in tokens.reversed() { token.cancel() }
          case .firstInFirstOut: for token in tokens { token.cancel() }
          }
          tokens.removeAll(keepingCapacity: true)
        }
      }
    }

    @Test(
      "K16 Live bytes after some rounds and several times as many differ by less than 64 KiB",
      arguments: Setting.all)
    func rounds(setting: Setting) async {
      await #expect(processExitsWith: .success) { [setting = setting as Setting] in
        let source = Broadcaster<Int>()
        let gate = Gate()
        let staying = source.observe { _ in gate.pass() }
        let wait = setting.isHeld ? onThread { source.send(0) } : nil
        if setting.isHeld { gate.waitUntilReached() }
        MemoryTests.run(source, setting, rounds: MemoryTests.rounds.early)
        let early = liveBytes
        let (more, less) = (MemoryTests.rounds.late, MemoryTests.rounds.early)
        MemoryTests.run(source, setting, rounds: more - less)
        let growth = liveBytes - early
        gate.open()
        wait?()
        #expect(early > 0)
        #expect(abs(growth) < 64 * 1_024)
        withExtendedLifetime(staying) {}
      }
    }

    @Test(
      "K16 Live bytes after 10 and more bursts that fill several chunks differ by less than 64 KiB",
      arguments: [1, 4])
    func bursts(targetCount: Int) async {
      await #expect(processExitsWith: .success) { [targetCount = targetCount as Int] in
        let source = Broadcaster<Int>()
        let targets = (0..<targetCount).map { _ in ManualTarget() }
        let tokens = targets.map { source.observe(on: .target($0)) { _ in } }
        func burst(_ count: Int) {
          for number in 0..<count {
            // The largest chunks are of 64 KiB, which is a thousand records.
            for value in 0..<3_000 { source.send(value) }
            for target in targets {
              // One by one for a part of some bursts.
              for _ in 0..<(number % 3 * 40) { target.runNext() }
              target.runJobs()
            }
          }
        }
        burst(10)
        let early = liveBytes
        burst(Effort.times(10, long: 90))
        let growth = liveBytes - early
        #expect(early > 0)
        #expect(abs(growth) < 64 * 1_024)
        withExtendedLifetime(tokens) {}
      }
    }

    @Test("An observer, its token and its place in the list take 136 bytes of the allocator's")
    func size() async {
      await #expect(processExitsWith: .success) {
        let source = Broadcaster<Int>()
        var tokens: [ObservationToken] = []
        let count = 10_000
        tokens.reserveCapacity(count)
        tokens.append(source.observe { _ in })
        let early = liveBytes
        for _ in 1..<count { tokens.append(source.observe { _ in }) }
        let growth = liveBytes - early
        #expect(early > 0)
        #expect(growth <= count * 136)
        withExtendedLifetime(tokens) {}
      }
    }

    @Test(
      "K16 Live bytes after 1,000 and 10,000 calls of an asynchronous observer differ by less than 1 MiB"
    )
    func asynchronousCalls() async {
      await #expect(processExitsWith: .success) {
        let center = MessageCenter()
        let token = center.messages(of: Tick.self).observeAsync { _ in }
        for number in 0..<1_000 { try await center.postAndWait(Tick(number: number)) }
        let early = liveBytes
        for number in 0..<9_000 { try await center.postAndWait(Tick(number: number)) }
        let growth = liveBytes - early
        #expect(early > 0)
        // Nine thousand tasks would be several times as much; the threads that run them keep some.
        #expect(abs(growth) < 1 << 20)
        withExtendedLifetime(token) {}
      }
    }
  }
#endif
