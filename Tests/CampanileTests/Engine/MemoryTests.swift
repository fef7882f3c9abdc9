#if canImport(Glibc)
  import Foundation
  import Glibc
  import Testing

  @testable import Campanile

  /// Live bytes after 100,000 and after 1,000,000 rounds of adding and cancelling.
  ///
  /// A debug build, whose rounds take ten times as long, makes a tenth of them.
  ///
  /// Each test has a process of its own, so that no other test's memory is counted.
  @Suite("Live bytes", .serialized)
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
      private static let rounds = (early: 10_000, late: 100_000)
    #else
      private static let rounds = (early: 100_000, late: 1_000_000)
    #endif

    /// What the C library's allocator has given out and not got back.
    private static var liveBytes: Int {
      typealias Report = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
      // SAFETY: `malloc_info` has this type; its header is not part of the module.
      let report = unsafe unsafeBitCast(dlsym(nil, "malloc_info"), to: Report.self)
      var text: UnsafeMutablePointer<CChar>?
      var size = 0
      let file = unsafe open_memstream(&text, &size)!
      _ = unsafe report(0, file)
      unsafe fclose(file)
      defer { unsafe free(text) }
      // The last line of each kind sums up all arenas.
      let lines = unsafe String(cString: text!).split(separator: "\n")
      func total(_ start: String) -> Int {
        let line = lines.last { $0.hasPrefix(start) }
        return line.flatMap {
          Int($0.split(separator: "\"").last { $0.allSatisfy(\.isNumber) } ?? "")
        }
          ?? 0
      }
      return total("<system type=\"current\"") + total("<total type=\"mmap\"")
        - total("<total type=\"fast\"") - total("<total type=\"rest\"")
    }

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
      "K16 Live bytes after 100,000 and 1,000,000 rounds, or a tenth, differ by less than 64 KiB",
      arguments: Setting.all)
    func rounds(setting: Setting) async {
      await #expect(processExitsWith: .success) { [setting = setting as Setting] in
        let source = Broadcaster<Int>()
        let gate = Gate()
        let staying = source.observe { _ in gate.pass() }
        let wait = setting.isHeld ? onThread { source.send(0) } : nil
        if setting.isHeld { gate.waitUntilReached() }
        MemoryTests.run(source, setting, rounds: MemoryTests.rounds.early)
        let early = MemoryTests.liveBytes
        let (more, less) = (MemoryTests.rounds.late, MemoryTests.rounds.early)
        MemoryTests.run(source, setting, rounds: more - less)
        let growth = MemoryTests.liveBytes - early
        gate.open()
        wait?()
        #expect(early > 0)
        #expect(abs(growth) < 64 * 1_024)
        withExtendedLifetime(staying) {}
      }
    }

    // Broken by: AnyObserver, if every observer has room for details, or for a file and a line.
    @Test("An observer, its token and its place in the list take 120 bytes of the allocator's")
    func size() async {
      await #expect(processExitsWith: .success) {
        let source = Broadcaster<Int>()
        var tokens: [ObservationToken] = []
        let count = 10_000
        tokens.reserveCapacity(count)
        tokens.append(source.observe { _ in })
        let early = MemoryTests.liveBytes
        for _ in 1..<count { tokens.append(source.observe { _ in }) }
        let growth = MemoryTests.liveBytes - early
        #expect(early > 0)
        #expect(growth <= count * 120)
        withExtendedLifetime(tokens) {}
      }
    }

    // Broken by: AsyncRunner.start, if it keeps the tasks that have ended.
    @Test(
      "K16 Live bytes after 1,000 and 10,000 calls of an asynchronous observer differ by less than 1 MiB",
      arguments: [false, true])
    func asynchronousCalls(areConcurrent: Bool) async {
      await #expect(processExitsWith: .success) { [areConcurrent = areConcurrent as Bool] in
        let center = MessageCenter()
        let token = center.observeAsync(
          Tick.self, execution: areConcurrent ? .concurrent : .oneAtATime
        ) { _ in }
        for number in 0..<1_000 { try await center.postAndWait(Tick(number: number)) }
        let early = MemoryTests.liveBytes
        for number in 0..<9_000 { try await center.postAndWait(Tick(number: number)) }
        let growth = MemoryTests.liveBytes - early
        #expect(early > 0)
        // Nine thousand tasks would be several times as much; the threads that run them keep some.
        #expect(abs(growth) < 1 << 20)
        withExtendedLifetime(token) {}
      }
    }

    // Broken by: BoundedQueue.popFirst, if it gives no place back before the queue is empty.
    @Test(
      "K12 K16 Live bytes after 1,000 and 100,000 values that nobody reads differ by less than 64 KiB"
    )
    func unread() async {
      await #expect(processExitsWith: .success) {
        let source = Broadcaster<Int>()
        let values = source.values(buffering: .newest(4))
        for number in 0..<1_000 { source.send(number) }
        let early = MemoryTests.liveBytes
        for number in 1_000..<100_000 { source.send(number) }
        let growth = MemoryTests.liveBytes - early
        #expect(early > 0)
        #expect(abs(growth) < 64 * 1_024)
        #expect(values.droppedCount == 100_000 - 4)
      }
    }

    // Broken by: KeyedCenter.makeTopic and KeyedCenter.purgeWideSubjects, if they forget nothing.
    @Test(
      "K16 Live bytes after 1,000 and 20,000 keys and subjects differ by less than 128 KiB",
      arguments: [true, false])
    func keys(areKeys: Bool) async {
      await #expect(processExitsWith: .success) { [areKeys = areKeys as Bool] in
        let center = KeyedCenter<Int>()
        func use(_ numbers: Range<Int>) {
          for number in numbers {
            let player = Player()
            let registration = center.register(
              .inPlace(), ObserverBody { _ in }, of: areKeys ? "\(number)" : nil,
              about: areKeys ? .none : .some(player), once: false)
            registration.cancel()
          }
        }
        use(0..<1_000)
        let early = MemoryTests.liveBytes
        use(1_000..<20_000)
        let growth = MemoryTests.liveBytes - early
        #expect(early > 0)
        #expect(abs(growth) < 128 * 1_024)
        withExtendedLifetime(center) {}
      }
    }
  }
#endif
